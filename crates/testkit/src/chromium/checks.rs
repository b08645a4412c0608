//! What a tab offers to eyes and to screen readers. Judges contrast by WCAG's formula; what is good enough is for tests to say.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};

use super::page::Page;

/// One thing that a screen reader can come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessibleNode {
    /// As in ARIA: `button`, `textbox`, `heading`, …; text is `StaticText`.
    pub role: String,
    /// What it is called; empty if it has no name.
    pub name: String,
    /// Whether the keyboard reaches it.
    pub focusable: bool,
}

/// A text that stands out too little from what is behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct LowContrast {
    /// Its beginning.
    pub text: String,
    /// From 1 to 21.
    pub ratio: f64,
    /// 4.5, or 3.0 for large text.
    pub needed: f64,
    /// Such as `#888888 on #ffffff`.
    pub colours: String,
    /// The element and those around it.
    pub place: String,
}

impl fmt::Display for LowContrast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, ratio, needed, colours, place } = self;
        write!(f, "{ratio:.2} < {needed}: {colours}: {text:?} in {place}")
    }
}

impl Page {
    /// What a screen reader finds, in order.
    #[track_caller]
    pub fn accessibility(&self) -> Vec<AccessibleNode> {
        let tree = self.call("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().into_iter().flatten();
        let nodes = nodes.filter(|node| node["ignored"] != true && node["role"]["value"] != "InlineTextBox");
        let word = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        let has = |node: &Value, name: &str| {
            let properties = node["properties"].as_array();
            properties
                .is_some_and(|all| all.iter().any(|one| one["name"] == name && one["value"]["value"] == true))
        };
        nodes
            .map(|node| AccessibleNode {
                role: word(&node["role"]),
                name: word(&node["name"]),
                focusable: has(node, "focusable"),
            })
            .collect()
    }

    /// The visible texts with too little contrast, those of fields and placeholders included. What is disabled, or lies on a
    /// picture or gradient, is not judged.
    ///
    /// # Panics
    /// If the page cannot be looked at.
    #[track_caller]
    pub fn contrast(&self) -> Vec<LowContrast> {
        let found: Vec<Vec<Value>> = self.eval(include_str!("contrast.js"));
        let read = |parts: Vec<Value>| {
            let [text, ratio, needed, colours, place] = <[Value; 5]>::try_from(parts).ok()?;
            let word = |value: &Value| value.as_str().map(str::to_owned);
            Some(LowContrast {
                text: word(&text)?,
                ratio: ratio.as_f64()?,
                needed: needed.as_f64()?,
                colours: word(&colours)?,
                place: word(&place)?,
            })
        };
        found.into_iter().map(|parts| read(parts).expect("five parts")).collect()
    }

    /// The browser's counters of this tab, such as `Nodes`, `JSHeapUsedSize` (bytes), `TaskDuration` (seconds).
    #[track_caller]
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let answer = self.call("Performance.getMetrics", json!({}));
        let metrics = answer["metrics"].as_array().into_iter().flatten();
        metrics.filter_map(|one| Some((one["name"].as_str()?.to_owned(), one["value"].as_f64()?))).collect()
    }
}
