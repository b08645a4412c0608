//! A tab that measures when something is shown in it, and how many bytes came for that.

use posse_testkit::chromium::{Browser, Page};
use serde_json::json;

use crate::web::home::WebServer;

const TAB: &str = include_str!("tab.js");
/// Bytes of the document and of what it asked for, `WHICH` of it: with heads, without, and unpacked.
const BYTES: &str = "[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter((one) => WHICH === new URL(one.name).pathname.startsWith('/api/'))
    .reduce(([a, b, c], one) => [a + one.transferSize, b + one.encodedBodySize, c + one.decodedBodySize], [0, 0, 0])";

/// A new tab that knows the token of the server and waits for a condition. It has a process and a connection already.
pub(crate) fn tab(browser: &Browser, server: &WebServer, condition: &str) -> Page {
    let page = browser.page();
    let source = TAB.replace("TOKEN", &json!(server.token).to_string()).replace("CONDITION", condition);
    page.call("Page.addScriptToEvaluateOnNewDocument", json!({"source": source}));
    page.open(&format!("{}/icon.svg", server.address));
    page
}

/// Goes to an address, and says after how many milliseconds the condition of the tab was shown.
pub(crate) fn shown_ms(page: &Page, url: &str) -> f64 {
    page.open("about:blank");
    page.open(url);
    page.wait_value("window.__shownMs", "what is measured")
}

/// The same for one who has never been here.
pub(crate) fn shown_first_ms(page: &Page, url: &str) -> f64 {
    page.open("about:blank");
    page.call("Network.clearBrowserCache", json!({}));
    shown_ms(page, url)
}

/// Bytes that came for the present document so far, its files or the answers of the API: on the wire, packed, unpacked.
pub(crate) fn bytes(page: &Page, of_api: bool) -> [f64; 3] {
    let (on_wire, packed, raw) = page.eval(&BYTES.replace("WHICH", if of_api { "true" } else { "false" }));
    [on_wire, packed, raw]
}
