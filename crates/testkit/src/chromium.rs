//! A headless Chromium that tests drive as a person would: with a mouse, a keyboard and eyes.
//!
//! It speaks the DevTools protocol over the two pipes of `--remote-debugging-pipe`. It knows browsers and nothing about Posse's
//! page. Everything waits for the thing itself; what does not come within a minute stops the test and shows the page.
//!
//! One browser has any number of tabs that share storage, locks and channels. It is killed when the `Browser` is dropped.

mod checks;
mod input;
mod keys;
mod page;
mod process;
mod seen;
mod trace;
mod value;
mod wire;

use std::sync::Arc;

use serde_json::json;

pub use checks::{AccessibleNode, LowContrast};
pub use page::Page;
pub use seen::ConsoleLine;
pub use trace::{LongTask, MainThreadTask};
pub use value::FromPage;

use process::BrowserProcess;
use wire::BrowserPipe;

/// A browser with an empty profile of its own.
pub struct Browser {
    wire: Arc<BrowserPipe>,
    /// Dropping it kills the browser and removes its profile.
    process: BrowserProcess,
}

impl Browser {
    /// Starts a browser and returns when it answers.
    ///
    /// # Panics
    /// If there is no `chromium` on the path, or it does not answer.
    #[track_caller]
    pub fn start() -> Self {
        let (process, to, from) = BrowserProcess::start();
        let wire = BrowserPipe::new(to, from, process.log());
        if let Err(problem) = wire.call(None, "Browser.getVersion", json!({})) {
            panic!("Chromium does not start: {problem}");
        }
        Self { wire, process }
    }

    /// A new empty tab, 1280 by 800. Tabs share storage; each has a window of its own, so that none counts as hidden.
    ///
    /// # Panics
    /// If the browser has gone.
    #[track_caller]
    pub fn page(&self) -> Page {
        match Page::new(&self.wire) {
            Ok(page) => page,
            Err(problem) => panic!("no new tab: {problem}"),
        }
    }

    /// The processes of this browser that live.
    pub fn processes(&self) -> Vec<u32> {
        self.process.members()
    }

    /// The id of the group that all its processes are in.
    pub fn group(&self) -> u32 {
        self.process.group()
    }
}
