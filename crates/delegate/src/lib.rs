//! The tree of agents as a state machine without IO: admit, queue, budget, park, cancel, settle.
#![forbid(unsafe_code)]
