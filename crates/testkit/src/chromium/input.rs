//! Mouse and keyboard of a tab: real input events, at the place where the element is. Decides nothing about what happens then.

use serde_json::json;

use super::keys::{Stroke, stroke};
use super::page::Page;

const FIND: &str = include_str!("find.js");
const PLACE: &str = include_str!("place.js");
const FILL: &str = include_str!("fill.js");

impl Page {
    /// Clicks an element, named by a CSS selector or by its text (`text=Send` is never a selector). Waits until it is there,
    /// enabled, at rest and not covered; scrolls to it.
    ///
    /// The text is what the element says, its label, placeholder or title: exactly, or else a part of what it says. Among several,
    /// controls come first.
    #[track_caller]
    pub fn click(&self, target: &str) {
        let (x, y) = self.place(target);
        self.mouse("mouseMoved", x, y, 0);
        self.mouse("mousePressed", x, y, 1);
        self.mouse("mouseReleased", x, y, 1);
    }

    /// Moves the mouse over an element, found as in `click`.
    #[track_caller]
    pub fn hover(&self, target: &str) {
        let (x, y) = self.place(target);
        self.mouse("mouseMoved", x, y, 0);
    }

    /// Turns the mouse wheel over an element, found as in `click`; down if positive.
    #[track_caller]
    pub fn wheel(&self, target: &str, pixels: i32) {
        let (x, y) = self.place(target);
        let event = json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": pixels});
        self.call("Input.dispatchMouseEvent", event);
    }

    /// Types into what has the focus, key by key. A line break is Enter; what no key types is inserted.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        for letter in text.chars() {
            let name = if letter == '\n' { "Enter".to_owned() } else { letter.to_string() };
            match stroke(&name) {
                Some(stroke) => self.strike(&stroke),
                None => self.insert(&name),
            }
        }
    }

    /// Presses a key: `Enter`, `a`, `?`, `F2`, `Control+Enter`, `Shift+Tab`. Modifiers are Alt, Control, Meta and Shift.
    ///
    /// # Panics
    /// If there is no such key.
    #[track_caller]
    pub fn press(&self, key: &str) {
        let stroke = stroke(key).unwrap_or_else(|| panic!("no key is called {key}"));
        self.strike(&stroke);
    }

    /// Replaces what a field holds, found as in `click` or by its label; in a list, chooses by value or label.
    #[track_caller]
    pub fn fill(&self, target: &str, text: &str) {
        let script = format!("({FILL})(({FIND})({}), {})", json!(target), json!(text));
        let [is_set] = self.wait_value::<Vec<bool>>(&script, &format!("the field {target}"))[..] else {
            return;
        };
        match (is_set, text) {
            (true, _) => {}
            (false, "") => self.press("Delete"),
            (false, text) => self.insert(text),
        }
    }

    #[track_caller]
    fn place(&self, target: &str) -> (f64, f64) {
        let script = format!("({PLACE})(({FIND})({}))", json!(target));
        self.wait_value(&script, &format!("{target} to point at"))
    }

    #[track_caller]
    fn mouse(&self, kind: &str, x: f64, y: f64, count: u32) {
        let button = if count > 0 { "left" } else { "none" };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": count});
        self.call("Input.dispatchMouseEvent", event);
    }

    #[track_caller]
    fn insert(&self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    #[track_caller]
    fn strike(&self, stroke: &Stroke) {
        let mut event = json!({
            "type": if stroke.text.is_some() { "keyDown" } else { "rawKeyDown" },
            "key": stroke.key,
            "code": stroke.code,
            "windowsVirtualKeyCode": stroke.number,
            "modifiers": stroke.modifiers,
        });
        if let Some(text) = &stroke.text {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", event.clone());
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event);
    }
}
