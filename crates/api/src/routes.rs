//! The one table of all routes. The router is built from it, clients follow it, and tests go through it.

use std::sync::Arc;

use axum::extract::Request;
use posse_protocol::Event;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::call::{Call, Verb};
use crate::calls::changes::{ChangeFiles, MoveToBackground, PreviewChange, ReviewHunks, ShowDiff};
use crate::calls::folder::{
    CompleteFiles, ExpandCommand, ForgetSkill, ListCommands, ListModels, ListRoles, ListSkills, RunCommand,
    ShowConfig, ShowDoctor, ShowSkill,
};
use crate::calls::library::{ForgetNote, ListNotes, SearchRecord, ShowStats};
use crate::calls::permissions::{ListRules, RemoveRule, SaveRoleModel, SaveRule, ShowTrust, TrustFiles};
use crate::calls::record::{
    ListAgents, ListEvents, ListQuestions, ListSessions, SessionQuestions, ShowContext, ShowEventDiff,
    ShowSession,
};
use crate::calls::served::{
    AskAside, DeleteSession, ExportSession, ForkSession, ResumeSession, ShowEvent, ShowServer,
    ShowTranscript, ShowView, StartSession,
};
use crate::calls::servers::{FillPrompt, ListServers};
use crate::calls::steering::{
    AnswerQuestion, CancelSession, ChangeSettings, CloseSession, CompactNow, EditMessage, PromptSession,
    RenameSession, StopAgent, StopTurn, TellAgent, TopUpBudget, WithdrawMessage,
};
use crate::exchange::Answering;
use crate::follow;
use crate::follow_request::{FollowSession, FollowSessions};
use crate::hub::Hub;
use crate::serving::{serve, serve_on_hub};
use crate::shared::Shared;
use crate::streams;

/// One route: how it is asked, what it gives back, and who answers.
pub struct Route {
    /// The name of its call.
    pub name: &'static str,
    /// Its method.
    pub verb: Verb,
    /// Its path; `{session}` stands for a session id.
    pub path: &'static str,
    /// Whether it changes something.
    pub steers: bool,
    /// Whether only `posse serve` answers it.
    pub serve_only: bool,
    /// Whether the answer is an event stream.
    pub streams: bool,
    /// The schema of the query string or the body.
    pub request: fn(&mut SchemaGenerator) -> Schema,
    /// The schema of the answer; of one frame's data where the answer is an event stream.
    pub answer: fn(&mut SchemaGenerator) -> Schema,
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
    route::<ForgetNote>(),
    route::<ShowStats>(),
    Route {
        name: "follow_session",
        verb: Verb::Get,
        path: FollowSession::PATH,
        steers: false,
        serve_only: false,
        streams: true,
        request: schema::<FollowSession>,
        answer: schema::<Event>,
        handler: follow::serve,
    },
    route::<ListServers>(),
    route::<FillPrompt>(),
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
    route::<ReviewHunks>(),
    route::<PreviewChange>(),
    route::<ChangeFiles>(),
    served::<ShowServer>(),
    Route {
        name: "follow_sessions",
        verb: Verb::Get,
        path: FollowSessions::PATH,
        steers: false,
        serve_only: true,
        streams: true,
        request: schema::<FollowSessions>,
        answer: schema::<Event>,
        handler: streams::serve,
    },
    served::<StartSession>(),
    served::<ResumeSession>(),
    served::<ForkSession>(),
    served::<AskAside>(),
    served::<DeleteSession>(),
    served::<ShowView>(),
    served::<ShowTranscript>(),
    served::<ShowEvent>(),
    served::<ExportSession>(),
    served::<ListModels>(),
    served::<ListRoles>(),
    served::<SaveRoleModel>(),
    served::<ListSkills>(),
    served::<ShowSkill>(),
    served::<ForgetSkill>(),
    served::<ListRules>(),
    served::<SaveRule>(),
    served::<RemoveRule>(),
    served::<ShowTrust>(),
    served::<TrustFiles>(),
    served::<ListCommands>(),
    served::<ExpandCommand>(),
    served::<RunCommand>(),
    served::<CompleteFiles>(),
    served::<ShowDoctor>(),
    served::<ShowConfig>(),
];

const fn route<C: Call>() -> Route {
    described::<_, C>(false, serve::<C>)
}

const fn served<C: Call<Arc<Hub>>>() -> Route {
    described::<_, C>(true, serve_on_hub::<C>)
}

const fn described<On, C: Call<On>>(
    serve_only: bool,
    handler: fn(Arc<Shared>, Request) -> Answering,
) -> Route {
    Route {
        name: C::NAME,
        verb: C::VERB,
        path: C::PATH,
        steers: C::STEERS,
        serve_only,
        streams: false,
        request: schema::<C>,
        answer: schema::<C::Answer>,
        handler,
    }
}

fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
