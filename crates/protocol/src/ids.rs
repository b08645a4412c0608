//! Typed identifiers, so that one kind cannot be passed where another is meant.
//!
//! Making a new id needs a clock and randomness, which this crate does not have: `engine` makes them.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Its bytes, for ids that are derived from it.
            pub fn bytes(self) -> [u8; 16] {
                self.0.into_bytes()
            }
        }

        impl From<Uuid> for $name {
            fn from(uuid: Uuid) -> Self {
                Self(uuid)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }
    };
}

uuid_id! {
    /// One conversation of a person or program with a main agent in one workspace.
    SessionId
}
uuid_id! {
    /// One running conversation with a role.
    AgentId
}
uuid_id! {
    /// One process that runs sessions of a record. A process that has opened the record twice has two.
    ProcessId
}

/// Names one tool call within its agent. Given by the provider, or by Posse where the provider gives none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CallId(pub String);

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The number of a message that was sent to an agent, unique in its session: 1, 2, 3, …
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct MailId(pub u64);

impl MailId {
    /// Whether it names no message: the text was not mailed, or comes from a record that had no numbers.
    pub fn is_unknown(&self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The sequence number of an event in its session: 1, 2, 3, … without gaps.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Seq(pub u64);
