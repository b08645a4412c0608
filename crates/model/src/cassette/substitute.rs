//! Texts that differ from machine to machine, and what stands for them in a cassette.

use std::sync::Arc;

use posse_protocol::{Message, Reply};

/// Pairs of (text here, placeholder in the cassette), applied in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Substitutions {
    pairs: Arc<Vec<Pair>>,
}

#[derive(Debug)]
struct Pair {
    real: String,
    placeholder: String,
    /// The same two as they look inside a JSON string.
    real_json: String,
    placeholder_json: String,
}

/// Which way to replace.
#[derive(Clone, Copy)]
enum Way {
    IntoCassette,
    OutOfCassette,
}

impl Substitutions {
    pub(crate) fn new(pairs: &[(String, String)]) -> Self {
        let wanted = pairs.iter().filter(|(real, placeholder)| !real.is_empty() && !placeholder.is_empty());
        let pairs = wanted
            .map(|(real, placeholder)| Pair {
                real_json: inside_json(real),
                placeholder_json: inside_json(placeholder),
                real: real.clone(),
                placeholder: placeholder.clone(),
            })
            .collect();
        Self { pairs: Arc::new(pairs) }
    }

    /// A text as the cassette has it.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.text(text, Way::IntoCassette)
    }

    /// A message as the cassette has it.
    pub(crate) fn hide_message(&self, message: &Message) -> Message {
        let mut message = message.clone();
        match &mut message {
            Message::User { text, .. } => self.change(text, Way::IntoCassette),
            Message::Assistant { text, reasoning, calls } => {
                self.change(text, Way::IntoCassette);
                for piece in reasoning {
                    self.change(&mut piece.text, Way::IntoCassette);
                }
                for call in calls {
                    self.change_json(&mut call.arguments, Way::IntoCassette);
                }
            }
            Message::Tools { results } => {
                for result in results {
                    self.change(&mut result.text, Way::IntoCassette);
                }
            }
        }
        message
    }

    /// A reply as the cassette has it.
    pub(crate) fn hide_reply(&self, reply: &Reply) -> Reply {
        self.reply(reply, Way::IntoCassette)
    }

    /// A reply as it is here.
    pub(crate) fn show_reply(&self, reply: &Reply) -> Reply {
        self.reply(reply, Way::OutOfCassette)
    }

    fn reply(&self, reply: &Reply, way: Way) -> Reply {
        let mut reply = reply.clone();
        self.change(&mut reply.text, way);
        for piece in &mut reply.reasoning {
            self.change(&mut piece.text, way);
        }
        for call in &mut reply.calls {
            self.change_json(&mut call.arguments, way);
        }
        reply
    }

    fn change(&self, text: &mut String, way: Way) {
        if !self.pairs.is_empty() {
            *text = self.text(text, way);
        }
    }

    fn text(&self, text: &str, way: Way) -> String {
        self.pairs.iter().fold(text.to_owned(), |text, pair| match way {
            Way::IntoCassette => text.replace(&pair.real, &pair.placeholder),
            Way::OutOfCassette => text.replace(&pair.placeholder, &pair.real),
        })
    }

    fn change_json(&self, json: &mut String, way: Way) {
        for pair in self.pairs.iter() {
            *json = match way {
                Way::IntoCassette => json.replace(&pair.real_json, &pair.placeholder_json),
                Way::OutOfCassette => json.replace(&pair.placeholder_json, &pair.real_json),
            };
        }
    }
}

fn inside_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}
