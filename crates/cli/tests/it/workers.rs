//! Sub-agents on other machines: the real binary on both sides of a real sshd, as another user where tests may choose one.

mod broker;
mod commands;
mod doctor;
mod far;
mod hostile;
mod killed;
mod ssh;
