//! One agent's tools: what it is offered, and the gate every call goes through before it runs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, OnceLock},
    task::Poll,
};

use posse_policy::{Act, Decision, Wish, decide, decide_outside, offers, shell_level, suggested_name};
use posse_protocol::limits::{CALL_PATH_BYTES_MAX, CALL_PATHS_MAX};
use posse_protocol::visible::one_line;
use posse_protocol::{
    AgentId, Approval, CallKind, Files, FreeQuestion, Grant, Shell, ToolCall, ToolOutcome, ToolSpec,
    TraceParent,
};
use posse_workspace::{Permit, Workspace};

use crate::{
    Jobs, Knowledge, OutsideOffer, OutsideQuestions, Preview, Rewrites, RunningCommand, ToolSettings,
    all::all,
    arguments::{self, closest},
    context::Context,
    failure::crashed,
    lean, limits,
    mcp_read::McpRead,
    picture,
    read_file::ReadFile,
    seen::SeenFiles,
    show::bounded,
    tool::{ReadCall, Tool as _, ToolEntry},
    tool_call::NamedCall,
};

/// The tools of one agent. Lives as long as the agent: it remembers which files the agent has read.
#[derive(Debug)]
pub struct Toolbox {
    specs: Vec<ToolSpec>,
    /// The tools that are there, allowed or not.
    there: Vec<&'static ToolEntry>,
    /// Whether only a few of them are offered, in few words.
    lean: bool,
    context: Context,
}

impl Toolbox {
    /// The tools that `grant` offers to an agent working in `workspace`, as far as what it knows has a use for them.
    /// Commands that run beside it go to `jobs`.
    pub fn new(
        workspace: &Workspace,
        grant: Grant,
        settings: ToolSettings,
        owner: AgentId,
        jobs: Jobs,
        knowledge: Knowledge,
    ) -> Self {
        let there = all().iter().filter(|entry| entry.is_there(&knowledge)).collect::<Vec<_>>();
        let specs = offered(&there, &knowledge, &settings, &grant);
        let context = Context {
            workspace: workspace.limited_to(grant.writes.clone()),
            settings: Arc::new(settings),
            seen: Arc::new(SeenFiles::default()),
            grant: Arc::new(grant),
            owner,
            jobs,
            rewrites: Rewrites::default(),
            running: RunningCommand::default(),
            knowledge: Arc::new(knowledge),
            draft: false,
            judged_unknown: false,
            questions: None,
            traceparent: None,
            committer: Arc::default(),
        };
        Self { specs, there, lean: false, context }
    }

    /// The same tools, of which a small model is offered the few that it needs, in few words. Calls are read and judged as
    /// before, those of tools that are not offered included.
    pub fn offering_few(mut self) -> Self {
        (self.specs, self.lean) = (lean::lean(&self.specs), true);
        self
    }

    /// Whether only a few are offered.
    pub fn offers_few(&self) -> bool {
        self.lean
    }

    /// Whether it shows images, and whether it shows documents.
    pub fn shows(&self) -> (bool, bool) {
        (self.context.settings.images, self.context.settings.documents)
    }

    /// The same tools in another folder. What was read in the old one does not count there.
    pub fn moved_to(&self, workspace: &Workspace) -> Self {
        let (context, specs, there) = (&self.context, self.specs.clone(), self.there.clone());
        let workspace = workspace.limited_to(context.grant.writes.clone());
        Self {
            specs,
            there,
            lean: self.lean,
            context: Context { workspace, seen: Arc::new(SeenFiles::default()), ..context.clone() },
        }
    }

    /// The same tools under another approval mode. What was read before still counts.
    pub fn with_approval(&self, approval: Approval) -> Self {
        let grant = Grant { approval, ..Grant::clone(&self.context.grant) };
        let specs = offered(&self.there, &self.context.knowledge, &self.context.settings, &grant);
        let context = Context { grant: Arc::new(grant), ..self.context.clone() };
        let toolbox = Self { specs, there: self.there.clone(), lean: false, context };
        if self.lean { toolbox.offering_few() } else { toolbox }
    }

    /// Whether its commands can change files.
    pub fn can_write(&self) -> bool {
        shell_level(&self.context.grant) == Shell::Full && self.context.grant.files == Files::Write
    }

    /// What the model is offered.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// What it would be offered now: what it knows may have grown since.
    pub fn specs_now(&self) -> Vec<ToolSpec> {
        offered(&self.there, &self.context.knowledge, &self.context.settings, &self.context.grant)
    }

    /// Says that the agent has been told the results of all calls so far, and may act on what it read.
    pub fn next_turn(&self) {
        self.context.seen.next_turn();
    }

    /// Checks a call: is there such a tool, are its arguments right, may it run? Nothing runs here. The error is the
    /// answer to the call.
    pub fn prepare(&self, call: &ToolCall) -> Result<Prepared, ToolOutcome> {
        // Where tools are looked for, this one is not offered by itself.
        if let Some(inner) =
            (call.name == NamedCall::NAME).then(|| NamedCall::of(&call.arguments, McpRead::NAME)).flatten()
        {
            return self.prepare(&ToolCall {
                name: McpRead::NAME.to_owned(),
                arguments: inner,
                ..call.clone()
            });
        }
        let (entry, read) = self.read_call(call)?;
        let outside = read.outside();
        if let Some(Decision::Deny(reason)) =
            outside.as_ref().map(|name| decide_outside(&self.context.grant, name))
        {
            return Err(ToolOutcome::error(bounded(reason)));
        }
        let known = outside.as_ref().and_then(|name| self.context.knowledge.outside.as_ref()?.tool(name));
        let (tool, about) = (outside.clone().unwrap_or_else(|| entry.spec.name.clone()), read.about());
        let title = one_line(format!("{tool} {about}").trim_matches([' ', '\n']), limits::TITLE_CHARS_MAX);
        // A stranger's repository must not speak to agents in other projects without a person's word.
        let act = match (read.for_all_projects() && !self.context.knowledge.trusted, &known) {
            (true, _) => Act::Leave,
            (false, Some(known)) => Act::Outside { destroys: known.says_destructive },
            (false, None) => read.act(&self.context.grant),
        };
        let path = read.path().map(|path| {
            let relative = self.context.workspace.resolve(path).ok();
            relative.map_or_else(|| path.to_owned(), |relative| relative.to_string())
        });
        let named = read.path().or(read.folder()).and_then(|path| self.context.workspace.resolve(path).ok());
        let paths = named.map(|path| path.to_string());
        let paths = paths.filter(|path| !path.is_empty() && path.len() <= CALL_PATH_BYTES_MAX);
        let paths = paths.into_iter().take(CALL_PATHS_MAX).collect();
        let (kind, runs) = (entry.kind, entry.spec.needs.shell > Shell::None);
        let read_only = known.as_ref().map_or(entry.read_only, |known| known.says_read_only);
        let (rewrites, running) = (Rewrites::default(), RunningCommand::default());
        let judged_unknown = outside.is_some() && known.is_none();
        let context = Context { rewrites, running, judged_unknown, ..self.context.clone() };
        let (permit, draft) = (OnceLock::new(), OnceLock::new());
        let call = read;
        Ok(Prepared {
            tool,
            kind,
            title,
            about,
            path,
            paths,
            act,
            read_only,
            runs,
            permit,
            draft,
            call,
            context,
        })
    }

    /// The arguments of a call under the names that its tool has for them, whatever the model wrote; as they are where there
    /// is no such tool. Of a tool from outside they are its own, whichever way it is called.
    pub fn arguments_of(&self, call: &ToolCall) -> serde_json::Value {
        let mended = self.find(&call.name).ok().and_then(|entry| entry.mended(&call.arguments));
        let mut arguments = mended.or_else(|| serde_json::from_str(&call.arguments).ok()).unwrap_or_default();
        if call.name == NamedCall::NAME && !self.names_outside(&call.name) {
            return arguments.get_mut("arguments").map(serde_json::Value::take).unwrap_or_default();
        }
        arguments
    }

    /// Reads a call by its tool, which the grant has to offer.
    fn read_call(&self, call: &ToolCall) -> Result<(&'static ToolEntry, Box<dyn ReadCall>), ToolOutcome> {
        let by_name = self.names_outside(&call.name);
        let entry =
            self.find(if by_name { NamedCall::NAME } else { &call.name }).map_err(ToolOutcome::error)?;
        if let Decision::Deny(reason) = decide(&self.context.grant, &entry.spec) {
            return Err(ToolOutcome::error(bounded(reason)));
        }
        let read = match by_name {
            true => arguments::object(&call.arguments).map(|arguments| -> Box<dyn ReadCall> {
                Box::new(NamedCall { name: call.name.clone(), arguments: Some(arguments.into()) })
            }),
            false => entry.read(&call.arguments),
        };
        let read = read.map_err(|why| {
            let text =
                format!("{}: {why}\nNothing was run. Correct the arguments and call again.", call.name);
            ToolOutcome::error(bounded(text))
        })?;
        Ok((entry, read))
    }

    /// Whether a name is that of a tool from outside, called without a detour.
    fn names_outside(&self, name: &str) -> bool {
        self.context.knowledge.outside.is_some() && name.starts_with("mcp__")
    }

    fn find(&self, name: &str) -> Result<&'static ToolEntry, String> {
        if let Some(entry) = self.there.iter().find(|entry| entry.spec.name == name) {
            return Ok(entry);
        }
        let known = || self.specs.iter().map(|spec| spec.name.as_str());
        let usual = suggested_name(name).filter(|usual| known().any(|known| known == *usual));
        let meant = usual.or_else(|| closest(name, known()));
        let meant = meant.map(|known| format!(" Did you mean {known}?")).unwrap_or_default();
        let known = known().collect::<Vec<_>>().join(", ");
        Err(format!(
            "There is no tool {}, so nothing was done.{meant} Go on with these tools: {known}.",
            one_line(name, 80)
        ))
    }
}

/// What an agent is offered that has these tools and rights.
fn offered(
    there: &[&'static ToolEntry],
    knowledge: &Knowledge,
    settings: &ToolSettings,
    grant: &Grant,
) -> Vec<ToolSpec> {
    let own = there.iter().filter_map(|entry| {
        let mut spec = entry.offered(knowledge)?;
        if spec.name == ReadFile::NAME {
            spec.description.push_str(picture::described(settings));
        }
        offers(grant, &spec).then_some(spec)
    });
    let each = match knowledge.outside.as_ref().map(|outside| outside.offer()) {
        Some(OutsideOffer::Each(tools)) => tools.as_slice(),
        _ => &[],
    };
    let each = each.iter().filter(|tool| decide_outside(grant, &tool.name) == Decision::Allow);
    own.chain(each.map(|tool| ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        schema: Arc::clone(&tool.schema),
        needs: NamedCall::NEEDS,
    }))
    .collect()
}

/// A call that the grant allows. Whether a person has to be asked first is for the caller to find out.
pub struct Prepared {
    tool: String,
    kind: CallKind,
    title: String,
    about: String,
    /// The path it works on, relative to the workspace.
    path: Option<String>,
    /// The paths to show of it.
    paths: Vec<String>,
    act: Act,
    read_only: bool,
    /// Whether it runs commands.
    runs: bool,
    /// What it may write although other programs act on it by themselves.
    permit: OnceLock<Permit>,
    /// Whether what it writes waits as a draft.
    draft: OnceLock<()>,
    call: Box<dyn ReadCall>,
    context: Context,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("title", &self.title).finish_non_exhaustive()
    }
}

impl Prepared {
    /// What it is about, in one line that is safe to show.
    pub fn title(&self) -> String {
        match self.draft.get() {
            Some(()) => one_line(
                format!("draft for posse skills review: {}", self.title).trim(),
                limits::TITLE_CHARS_MAX,
            ),
            None => self.title.clone(),
        }
    }

    /// What kind of thing it does.
    pub fn kind(&self) -> CallKind {
        self.kind
    }

    /// The files and folders that it names, relative to the workspace.
    pub fn paths(&self) -> &[String] {
        &self.paths
    }

    /// What it would do, for the decision whether it may. A path is relative to the workspace, however it was written.
    pub fn wish(&self) -> Wish<'_> {
        Wish { tool: &self.tool, what: self.path.as_deref().unwrap_or(&self.about), act: self.act }
    }

    /// Where the path it works on really leads, links resolved; none if it works on none.
    pub fn real_path(&self) -> Option<PathBuf> {
        let path = self.context.workspace.resolve(self.path.as_deref()?).ok()?;
        self.context.workspace.real_path(&path)
    }

    /// The same relative to the workspace; none if it leads elsewhere.
    pub fn place(&self) -> Option<String> {
        let real = self.real_path()?;
        let inside = real.strip_prefix(self.context.workspace.root()).ok()?;
        Some(inside.to_string_lossy().into_owned())
    }

    /// The program that would act by itself on what this writes; none if it is ordinary work. Unless it is permitted, it
    /// will be refused.
    pub fn obeyed_by(&self) -> Option<&'static str> {
        let path = self.path.as_deref().filter(|_| self.act == Act::Edit)?;
        self.context.workspace.protected(&self.context.workspace.resolve(path).ok()?)
    }

    /// Lets this one call write its file although other programs act on it by themselves: a person has said yes to it, or
    /// the mode is one in which nobody is asked. If the path leads elsewhere by then, that is refused.
    pub fn permit(&self) {
        let places = self.path.clone().into_iter().chain(self.place()).collect();
        let _ = self.permit.set(Permit::These(places));
    }

    /// Has what it writes wait as a draft for the person, where nobody can be asked. False if it writes nothing of that kind.
    pub fn as_draft(&self) -> bool {
        let can = self.tool == crate::skill_save::SkillSave::NAME;
        if can {
            let _ = self.draft.set(());
        }
        can
    }

    /// What it would change, as things are now.
    pub fn preview(&self) -> Option<Preview> {
        self.call.preview(&self.context)
    }

    /// Whether it leaves files and processes as they are, so that it may run beside others.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Whether anything in the workspace can be different afterwards.
    pub fn can_change(&self) -> bool {
        matches!(self.act, Act::Edit | Act::Command(Shell::Full) | Act::Leave)
            || (!self.context.settings.sandbox.on && matches!(self.act, Act::Command(_)))
    }

    /// The command it will run, if it runs one.
    pub fn command(&self) -> Option<String> {
        (self.runs && matches!(self.act, Act::Command(_) | Act::Leave)).then(|| self.about.clone())
    }

    /// Whether what it starts goes on after it, as one of the session's jobs.
    pub fn goes_on(&self) -> bool {
        self.call.goes_on()
    }

    /// What it asks the person, if it is a question and does nothing else.
    pub fn asks(&self) -> Option<FreeQuestion> {
        self.call.asks()
    }

    /// Has questions of servers go here while it runs, and tells them which span it is.
    pub fn heard_through(mut self, questions: OutsideQuestions, traceparent: Option<TraceParent>) -> Self {
        (self.context.questions, self.context.traceparent) = (Some(questions), traceparent);
        self
    }

    /// Whether a tool from outside does it.
    pub fn is_outside(&self) -> bool {
        matches!(self.act, Act::Outside { .. })
    }

    /// The files it will have written, byte for byte.
    pub fn rewrites(&self) -> Rewrites {
        self.context.rewrites.clone()
    }

    /// The command it will run. Whoever holds this has to see to its end.
    pub fn running(&self) -> RunningCommand {
        self.context.running.clone()
    }

    /// Runs it. Dropping the future stops it, with every process it started, unless somebody holds its command.
    pub async fn run(self) -> ToolOutcome {
        let Self { call, mut context, permit, draft, .. } = self;
        context.draft = draft.into_inner().is_some();
        if let Some(permit) = permit.into_inner() {
            context.workspace = context.workspace.permitting(permit);
        }
        let mut running = call.start(context);
        let caught = std::future::poll_fn(move |cx| {
            // A tool that panicked is not polled again, so nothing half-done is seen.
            match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
                Ok(polled) => polled,
                Err(_) => Poll::Ready(Err(crashed())),
            }
        });
        match caught.await {
            Ok(outcome) => ToolOutcome { text: bounded(outcome.text), ..outcome },
            Err(failed) => ToolOutcome::error(bounded(failed.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ToolFailure;
    use crate::tool::RunningCall;

    struct Panics(bool);

    impl ReadCall for Panics {
        fn about(&self) -> String {
            String::new()
        }

        fn act(&self, _grant: &Grant) -> Act {
            Act::Read
        }

        fn for_all_projects(&self) -> bool {
            false
        }

        fn outside(&self) -> Option<String> {
            None
        }

        fn path(&self) -> Option<&str> {
            None
        }

        fn folder(&self) -> Option<&str> {
            None
        }

        fn preview(&self, _context: &Context) -> Option<Preview> {
            None
        }

        fn goes_on(&self) -> bool {
            false
        }

        fn asks(&self) -> Option<FreeQuestion> {
            None
        }

        fn start(self: Box<Self>, context: Context) -> RunningCall {
            if self.0 {
                return Box::pin(async { panic!("on the runtime") });
            }
            Box::pin(context.blocking(|_, _| -> Result<ToolOutcome, ToolFailure> { panic!("on a thread") }))
        }
    }

    #[tokio::test]
    async fn a_panic_is_an_answer() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path()).unwrap();
        let owner = "0198c5a4-0000-7000-8000-000000000001".parse().unwrap();
        let (settings, knowledge) = (ToolSettings::default(), Knowledge::default());
        let tools = Toolbox::new(&workspace, Grant::none(), settings, owner, Jobs::default(), knowledge);
        for on_runtime in [true, false] {
            let call: Box<dyn ReadCall> = Box::new(Panics(on_runtime));
            let prepared = Prepared {
                tool: "panics".to_owned(),
                kind: CallKind::Other,
                paths: Vec::new(),
                title: String::new(),
                about: String::new(),
                path: None,
                act: Act::Read,
                read_only: true,
                runs: false,
                permit: OnceLock::new(),
                draft: OnceLock::new(),
                call,
                context: tools.context.clone(),
            };
            assert_eq!(prepared.run().await, ToolOutcome::error(crashed().0));
        }
    }
}
