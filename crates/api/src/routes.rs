//! The one table of all routes. The router is built from it, clients follow it, and tests go through it.

use std::sync::Arc;

use axum::extract::Request;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::call::{Call, Verb};
use crate::calls::changes::{ChangeFiles, MoveToBackground, PreviewChange, ShowDiff};
use crate::calls::library::{ListNotes, SearchRecord, ShowStats};
use crate::calls::record::{
    ListAgents, ListEvents, ListQuestions, ListSessions, SessionQuestions, ShowContext, ShowEventDiff,
    ShowSession,
};
use crate::calls::steering::{
    AnswerQuestion, CancelSession, ChangeSettings, CloseSession, CompactNow, EditMessage, PromptSession,
    RenameSession, StopAgent, StopTurn, TellAgent, TopUpBudget, WithdrawMessage,
};
use crate::exchange::Answering;
use crate::follow::{self, FollowSession};
use crate::serving::serve;
use crate::shared::Shared;

/// One route: how it is asked, what it gives back, and who answers.
pub struct Route {
    /// The name of its call.
    pub name: &'static str,
    /// Its method.
    pub verb: Verb,
    /// Its path; `{session}` stands for a session id.
    pub path: &'static str,
    /// The schema of the query string or the body.
    pub request: fn() -> Schema,
    /// The schema of the answer; of one frame's data where the answer is an event stream.
    pub answer: fn() -> Schema,
    pub(crate) handler: fn(Arc<Shared>, Request) -> Answering,
}

/// All routes.
pub static ROUTES: &[Route] = &[
    route::<ListSessions>(),
    route::<ShowSession>(),
    route::<ListAgents>(),
    route::<ListEvents>(),
    route::<ShowEventDiff>(),
    route::<ShowContext>(),
    route::<SessionQuestions>(),
    route::<ListQuestions>(),
    route::<SearchRecord>(),
    route::<ListNotes>(),
    route::<ShowStats>(),
    Route {
        name: "follow_session",
        verb: Verb::Get,
        path: follow::PATH,
        request: schema::<FollowSession>,
        answer: schema::<serde_json::Value>,
        handler: follow::serve,
    },
    route::<PromptSession>(),
    route::<TellAgent>(),
    route::<EditMessage>(),
    route::<WithdrawMessage>(),
    route::<AnswerQuestion>(),
    route::<StopTurn>(),
    route::<StopAgent>(),
    route::<CancelSession>(),
    route::<CloseSession>(),
    route::<ChangeSettings>(),
    route::<TopUpBudget>(),
    route::<RenameSession>(),
    route::<CompactNow>(),
    route::<MoveToBackground>(),
    route::<ShowDiff>(),
    route::<PreviewChange>(),
    route::<ChangeFiles>(),
];

const fn route<C: Call>() -> Route {
    Route {
        name: C::NAME,
        verb: C::VERB,
        path: C::PATH,
        request: schema::<C>,
        answer: schema::<C::Answer>,
        handler: serve::<C>,
    }
}

fn schema<T: JsonSchema>() -> Schema {
    SchemaGenerator::default().into_root_schema_for::<T>()
}
