//! Runs one hook: as the person, in the sandbox, or as a request. It must not know agents or events.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_hooks::{
    Hook, HookAction, HookAnswer, HookExit, HookOwner, HookSet, HookVoice, Surveyed, names_place, read_answer,
};
use posse_protocol::Grant;
use posse_sandbox::{
    Command, CommandExit, CommandOutcome, OutputLimits, Program, SandboxProfile, Touched, child_env,
};
use posse_tools::{HookReach, HookRequest, Sandbox, post_hook};
use posse_workspace::Workspace;
use serde_json::Value;

use crate::limits::HOOK_OUTPUT_BYTES_MAX;

/// The variable that tells a hook where the project is.
const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
/// Tells a command line where the project is, and runs it in a shell of its own. The folder is no part of the environment that
/// is looked through for folders of agents: this one is named on purpose.
const LINE: &str = "export CLAUDE_PROJECT_DIR=\"$0\"; exec \"$BASH\" -c \"$1\"";
const LINE_SH: &str = "export CLAUDE_PROJECT_DIR=\"$0\"; exec /bin/sh -c \"$1\"";
/// The same for a program with its arguments as they are, found as a shell finds it.
const AS_IS: &str = "export CLAUDE_PROJECT_DIR=\"$0\"; exec \"$@\"";
/// Keeps Python from looking for modules where agents write.
const SAFE_PYTHON: (&str, &str) = ("PYTHONSAFEPATH", "1");

/// The hooks of a session, and what running them takes.
#[derive(Clone, Debug, Default)]
pub struct HookSettings {
    /// The hooks, the person's own first.
    pub set: HookSet,
    /// Hooks that run outside the sandbox although agents could change them, by their exact text. Only the person's own
    /// configuration says so.
    pub outside: Vec<String>,
    /// The person's environment, for hooks that run as the person.
    pub environment: Vec<(String, String)>,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Folders that agents write, beside the one that they work in.
    pub places: Vec<PathBuf>,
}

/// Where a hook runs, and what it may do there if it is confined.
#[derive(Clone, Debug)]
pub struct HookPlace {
    /// The folder.
    pub workspace: Workspace,
    /// The rights of the agent that it runs for.
    pub grant: Grant,
    /// A file that it may read, wherever that is.
    pub transcript: Option<PathBuf>,
}

/// What came of one hook.
#[derive(Clone, Debug)]
pub struct HookRun {
    /// How it ended.
    pub exit: HookExit,
    /// What it wrote to its standard output, or the body of the response.
    pub stdout: String,
    /// What it wrote to its standard error.
    pub stderr: String,
    /// How long it took.
    pub duration_ms: u64,
    /// Whether it ran in the sandbox.
    pub confined: bool,
    /// How much it counts.
    pub voice: HookVoice,
    /// What it says.
    pub answer: HookAnswer,
    /// What it named in order to change it.
    pub(crate) touched: Touched,
}

/// Runs hooks.
#[derive(Clone, Debug)]
pub struct HookRunner {
    settings: Arc<HookSettings>,
    sandbox: Sandbox,
}

/// How a hook runs.
enum HookWay {
    /// With the person's rights and environment.
    AsPerson,
    /// As the kernel confines it.
    Confined(Box<SandboxProfile>),
    /// Unconfined, because the person wants no sandbox; with the environment of commands all the same.
    LikeCommands,
}

/// What a process or a request came to.
struct Ended {
    exit: HookExit,
    stdout: String,
    stderr: String,
    touched: Touched,
    /// Whether it said more than is read.
    is_cut: bool,
}

impl Ended {
    fn not_run(why: String) -> Self {
        let (stdout, stderr, touched) = (String::new(), String::new(), Touched::default());
        Self { exit: HookExit::NotRun(why), stdout, stderr, touched, is_cut: false }
    }
}

impl HookRunner {
    /// For hooks of a session whose commands are confined like this.
    pub fn new(settings: HookSettings, sandbox: Sandbox) -> Self {
        Self { settings: Arc::new(settings), sandbox }
    }

    /// The hooks.
    pub fn set(&self) -> &HookSet {
        &self.settings.set
    }

    /// Whether a hook runs in the sandbox: it is the project's, or agents could change what it runs; unless the person lets
    /// it out by its exact text. It looks at files.
    pub fn is_confined(&self, hook: &Hook, folder: &Path) -> bool {
        let settings = &self.settings;
        if matches!(hook.action, HookAction::Http(..)) || settings.outside.contains(&hook.action.text()) {
            return false;
        }
        if hook.origin.owner != HookOwner::Person {
            return true;
        }
        let path = settings.environment.iter().find(|(name, _)| name == "PATH");
        let search =
            path.map(|(_, value)| std::env::split_paths(value).collect::<Vec<_>>()).unwrap_or_default();
        let places = self.places(folder);
        let surveyed = Surveyed {
            folder,
            places: &places,
            home: settings.home.as_deref(),
            search: &search,
            real: &|path| path.canonicalize().ok(),
        };
        names_place(&hook.action, &surveyed)
    }

    /// Where agents write.
    fn places(&self, folder: &Path) -> Vec<PathBuf> {
        let real = folder.canonicalize().ok();
        [folder.to_path_buf()].into_iter().chain(real).chain(self.settings.places.iter().cloned()).collect()
    }

    /// Runs a hook to its end or its deadline. Dropping this ends it.
    pub async fn run(&self, hook: &Hook, input: &Value, place: &HookPlace) -> HookRun {
        let since = Instant::now();
        let (runner, prepared, at) = (self.clone(), hook.clone(), place.clone());
        let confinement = tokio::task::spawn_blocking(move || runner.confinement(&prepared, &at)).await;
        let confinement = confinement.unwrap_or_else(|error| Err(error.to_string()));
        let confined = matches!(confinement, Ok(HookWay::Confined(_)) | Err(_));
        let ended = match (&hook.action, confinement) {
            (_, Err(why)) => Ended::not_run(why),
            (HookAction::Http(url, headers), _) => self.post(hook, url, headers, input, place).await,
            (_, Ok(way)) => self.start(hook, input, place, way).await,
        };
        let Ended { exit, stdout, stderr, touched, is_cut } = ended;
        // Half of an object is none.
        let said = if is_cut { "" } else { stdout.as_str() };
        let mut answer = read_answer(hook.event, &exit, said, &stderr, hook.on_timeout);
        if is_cut {
            let fault = format!("it wrote more than {HOOK_OUTPUT_BYTES_MAX} bytes, and none of that counts");
            answer.fault = Some(fault);
        }
        let strange =
            hook.origin.owner != HookOwner::Person && !self.settings.outside.contains(&hook.action.text());
        let voice = if confined || strange { HookVoice::Confined } else { HookVoice::Person };
        let duration_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        HookRun { exit, stdout, stderr, duration_ms, confined, voice, answer, touched }
    }

    /// How a hook runs.
    fn confinement(&self, hook: &Hook, place: &HookPlace) -> Result<HookWay, String> {
        if !self.is_confined(hook, place.workspace.root()) {
            return Ok(HookWay::AsPerson);
        }
        let Some(mut profile) = self.sandbox.hook_profile(&place.grant, &place.workspace)? else {
            return Ok(HookWay::LikeCommands);
        };
        profile.readable.extend(place.transcript.clone().filter(|file| file.exists()));
        Ok(HookWay::Confined(Box::new(profile)))
    }

    async fn start(&self, hook: &Hook, input: &Value, place: &HookPlace, way: HookWay) -> Ended {
        let command = match self.command(hook, place, way) {
            Ok(command) => Command { stdin: Some(input.to_string().into_bytes()), ..command },
            Err(why) => return Ended::not_run(why),
        };
        let outcome = match posse_sandbox::run(command).await {
            Ok(outcome) => outcome,
            Err(error) => return Ended::not_run(error.to_string()),
        };
        let CommandOutcome { exit, output, stderr, touched, .. } = outcome;
        let exit = match exit {
            CommandExit::Code(code) => HookExit::Code(code),
            CommandExit::Signal(signal) => HookExit::Signal(signal),
            CommandExit::DeadlineExceeded => HookExit::TimedOut(hook.timeout_ms),
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let is_cut = !output.complete();
        Ended { exit, stdout: text(output.bytes()), stderr: text(stderr.bytes()), touched, is_cut }
    }

    /// The process that a hook is.
    fn command(&self, hook: &Hook, place: &HookPlace, way: HookWay) -> Result<Command, String> {
        let folder = place.workspace.root();
        let shell = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];
        let shell = shell.iter().find_map(|path| Program::at(Path::new(path), &[]).ok());
        let shell = shell.ok_or("there is no shell to run it with")?;
        let is_bash = shell.path().ends_with("bash");
        let (how, words) = match &hook.action {
            HookAction::Shell(line) => (if is_bash { LINE } else { LINE_SH }, vec![line.clone()]),
            HookAction::Program(program, arguments) => {
                let words = std::iter::once(program).chain(arguments).map(|word| with_folder(word, folder));
                (AS_IS, words.collect())
            }
            HookAction::Http(..) => return Err("it is no command".to_owned()),
        };
        let before = ["-c".to_owned(), how.to_owned(), folder.display().to_string()];
        let arguments = before.into_iter().chain(words);
        let deadline = Duration::from_millis(hook.timeout_ms);
        let mut command = Command::program(&shell, arguments, folder, deadline);
        if matches!(way, HookWay::AsPerson) {
            command.env.clone_from(&self.settings.environment);
            command.env.push((SAFE_PYTHON.0.to_owned(), SAFE_PYTHON.1.to_owned()));
            command.distrusted = self.places(folder);
        } else {
            let text = |(name, value): (OsString, OsString)| {
                Some((name.into_string().ok()?, value.into_string().ok()?))
            };
            command.env = child_env().into_iter().filter_map(text).collect();
        }
        command.env.retain(|(name, _)| name != PROJECT_DIR);
        command.output = OutputLimits { head_bytes: HOOK_OUTPUT_BYTES_MAX, tail_bytes: 0 };
        if let HookWay::Confined(profile) = way {
            command.confinement = Some(*profile);
        }
        Ok(command)
    }

    async fn post(
        &self,
        hook: &Hook,
        url: &str,
        headers: &[(String, String)],
        input: &Value,
        place: &HookPlace,
    ) -> Ended {
        let reach = match hook.origin.owner {
            HookOwner::Person => HookReach::Anywhere,
            HookOwner::Project { .. } => HookReach::Within(place.grant.network.clone()),
        };
        let request = HookRequest {
            url: url.to_owned(),
            headers: headers.to_vec(),
            body: input.to_string(),
            bytes_max: HOOK_OUTPUT_BYTES_MAX,
            deadline: Duration::from_millis(hook.timeout_ms),
            reach,
        };
        let (stderr, touched) = (String::new(), Touched::default());
        match post_hook(request).await {
            Ok(Some(response)) => {
                let stdout = String::from_utf8_lossy(&response.body).into_owned();
                let (exit, is_cut) = (HookExit::Status(response.status), response.is_cut);
                Ended { exit, stdout, stderr, touched, is_cut }
            }
            Ok(None) => {
                let exit = HookExit::TimedOut(hook.timeout_ms);
                Ended { exit, stdout: String::new(), stderr, touched, is_cut: false }
            }
            Err(why) => Ended::not_run(why),
        }
    }
}

/// A word of a program's command with the folder in place of the variable for it: no shell reads it.
fn with_folder(word: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    word.replace("${CLAUDE_PROJECT_DIR}", &folder).replace("$CLAUDE_PROJECT_DIR", &folder)
}
