//! `posse mcp serve` as other agents use it: the real server, the real processes of its tasks, and a fake model.

mod bad;
mod frame;
mod http;
mod second;
mod talk;
mod tasks;
mod waits;
