//! From the `hooks` of a settings file or of front matter to hooks. A mistake is a warning that names the place; it never keeps
//! the other hooks, or the session, from working.

use std::fmt;

use posse_policy::Rules;
use posse_protocol::clip::clipped;
use serde_json::{Map, Value};

use crate::event::HookEvent;
use crate::hook::{Hook, HookAction, HookOrigin, HookScope, OnTimeout};
use crate::limits::{
    COMMAND_CHARS_MAX, HOOKS_OF_FILE_MAX, PARTS_MAX, SHOWN_CHARS_MAX, TIMEOUT_MS_MAX, WARNINGS_MAX,
};
use crate::matcher::HookMatcher;

/// Something in a file that does not work as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookWarning {
    /// The file.
    pub file: String,
    /// The event, if it is about one.
    pub event: String,
    /// What is wrong, and what follows.
    pub text: String,
}

impl fmt::Display for HookWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.event.as_str() {
            "" => write!(f, "{}: {}", self.file, self.text),
            event => write!(f, "{}: {event}: {}", self.file, self.text),
        }
    }
}

/// Looks up a variable that a header of a hook may have; none if it may not.
pub type HeaderVariable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads the hooks of a settings file's text. `disableAllHooks` leaves none of this file; whether it leaves none at all is for
/// the caller, who is told.
pub fn read_settings(
    text: &str,
    origin: &HookOrigin,
    variable: HeaderVariable<'_>,
) -> (Vec<Hook>, Vec<HookWarning>, bool) {
    let mut reading = Reading::new(origin, variable);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(settings)) => {
            let disabled = settings.get("disableAllHooks") == Some(&Value::Bool(true));
            if let Some(hooks) = settings.get("hooks") {
                reading.events(hooks);
            }
            let hooks = if disabled { Vec::new() } else { reading.hooks };
            (hooks, reading.warnings, disabled)
        }
        Ok(_) => {
            reading.warn("", "it is not a JSON object, so it has no hooks".to_owned());
            (Vec::new(), reading.warnings, false)
        }
        Err(error) => {
            reading.warn("", format!("it is not JSON ({error}), so none of its hooks run"));
            (Vec::new(), reading.warnings, false)
        }
    }
}

/// Reads the hooks of front matter. There the end of a turn is that of the agent that the file describes.
pub fn read_front_matter(hooks: &Value, origin: &HookOrigin) -> (Vec<Hook>, Vec<HookWarning>) {
    let mut reading = Reading::new(origin, &|_| None);
    reading.events(hooks);
    (reading.hooks, reading.warnings)
}

struct Reading<'a> {
    origin: &'a HookOrigin,
    variable: HeaderVariable<'a>,
    hooks: Vec<Hook>,
    warnings: Vec<HookWarning>,
}

impl<'a> Reading<'a> {
    fn new(origin: &'a HookOrigin, variable: HeaderVariable<'a>) -> Self {
        Self { origin, variable, hooks: Vec::new(), warnings: Vec::new() }
    }

    fn warn(&mut self, event: &str, text: String) {
        if self.warnings.len() < WARNINGS_MAX {
            let (file, event) = (self.origin.file.clone(), clipped(event, SHOWN_CHARS_MAX));
            self.warnings.push(HookWarning { file, event, text });
        }
    }

    fn events(&mut self, hooks: &Value) {
        let Value::Object(events) = hooks else {
            return self.warn("", "its hooks are not an object with events, so none of them run".to_owned());
        };
        for (name, groups) in events {
            let Some(event) = HookEvent::named(name) else {
                let known = match HookEvent::is_foreign(name) {
                    true => "Posse does not have this event, so its hooks never run",
                    false => "there is no such event, so its hooks never run",
                };
                self.warn(name, known.to_owned());
                continue;
            };
            // Of an agent that a file describes, the end is that of a sub-agent.
            let event = match (&self.origin.scope, event) {
                (HookScope::Role(_), HookEvent::Stop) => HookEvent::SubagentStop,
                (_, event) => event,
            };
            match groups {
                Value::Array(groups) => groups.iter().for_each(|group| self.group(event, group)),
                _ => self.warn(name, "it is not a list, so its hooks never run".to_owned()),
            }
        }
    }

    fn group(&mut self, event: HookEvent, group: &Value) {
        let Value::Object(fields) = group else {
            return self.warn(event.name(), "an entry is not an object and is left out".to_owned());
        };
        let matcher = match fields.get("matcher") {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            Some(_) => {
                return self.warn(event.name(), "a matcher is not a text; its hooks never run".to_owned());
            }
        };
        let matcher = match HookMatcher::read(matcher) {
            Ok(matcher) => matcher,
            Err(error) => {
                let shown = clipped(matcher, SHOWN_CHARS_MAX);
                let text = format!("the matcher {shown:?} is no pattern ({}); its hooks never run", error.0);
                return self.warn(event.name(), text);
            }
        };
        match fields.get("hooks") {
            Some(Value::Array(hooks)) => hooks.iter().for_each(|hook| self.hook(event, &matcher, hook)),
            _ => self.warn(event.name(), "an entry has no list of hooks and is left out".to_owned()),
        }
    }

    fn hook(&mut self, event: HookEvent, matcher: &HookMatcher, hook: &Value) {
        let Value::Object(fields) = hook else {
            return self.warn(event.name(), "a hook is not an object and is left out".to_owned());
        };
        if self.hooks.len() >= HOOKS_OF_FILE_MAX {
            let text = format!("there are more than {HOOKS_OF_FILE_MAX} hooks; the rest is left out");
            return self.warn(event.name(), text);
        }
        let action = match self.action(fields) {
            Ok(action) => action,
            Err(text) => return self.warn(event.name(), text),
        };
        if fields.get("asyncRewake") == Some(&Value::Bool(true)) {
            let text = "asyncRewake counts as async: nobody is woken when the hook has ended";
            self.warn(event.name(), text.to_owned());
        }
        let is_set = |key: &str| fields.get(key) == Some(&Value::Bool(true));
        let in_background = is_set("async") || is_set("asyncRewake");
        let (timeout_ms, on_timeout) = (self.timeout_ms(event, fields), self.on_timeout(event, fields));
        let only_if = self.only_if(event, fields);
        let (matcher, origin) = (matcher.clone(), self.origin.clone());
        self.hooks.push(Hook {
            event,
            matcher,
            only_if,
            action,
            timeout_ms,
            on_timeout,
            in_background,
            origin,
        });
    }

    fn action(&self, fields: &Map<String, Value>) -> Result<HookAction, String> {
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "command" => command(fields),
            "http" => self.http(fields),
            "" => Err("a hook has no type and never runs; write \"type\": \"command\"".to_owned()),
            kind => Err(format!(
                "hooks of the type {:?} are not supported and never run; command and http are",
                clipped(kind, SHOWN_CHARS_MAX)
            )),
        }
    }

    fn http(&self, fields: &Map<String, Value>) -> Result<HookAction, String> {
        let url = text(fields, "url").ok_or("an http hook has no url and never runs")?;
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!(
                "{:?} is no http address; the hook never runs",
                clipped(url, SHOWN_CHARS_MAX)
            ));
        }
        let allowed = fields.get("allowedEnvVars").and_then(Value::as_array).cloned().unwrap_or_default();
        let allowed = allowed.iter().filter_map(Value::as_str).collect::<Vec<_>>();
        let mut headers = Vec::new();
        for (name, value) in fields.get("headers").and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().ok_or("a header of an http hook is not a text; it never runs")?;
            headers.push((name.clone(), self.expanded(value, &allowed)));
        }
        if headers.len() > PARTS_MAX {
            return Err(format!("an http hook has more than {PARTS_MAX} headers and never runs"));
        }
        Ok(HookAction::Http(url.to_owned(), headers))
    }

    /// A header's value with the variables in it that it may have; the others are empty.
    fn expanded(&self, value: &str, allowed: &[&str]) -> String {
        let mut out = String::new();
        let mut rest = value;
        while let Some(at) = rest.find('$') {
            out.push_str(&rest[..at]);
            let after = &rest[at + 1..];
            let braced = after.starts_with('{');
            let name = after.trim_start_matches('{');
            let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
            let variable = &name[..end];
            if variable.is_empty() {
                out.push('$');
                rest = after;
                continue;
            }
            if allowed.contains(&variable) {
                out.push_str(&(self.variable)(variable).unwrap_or_default());
            }
            let taken = usize::from(braced) + end;
            let close = usize::from(braced && after[taken..].starts_with('}'));
            rest = &after[taken + close..];
        }
        out + rest
    }

    fn timeout_ms(&mut self, event: HookEvent, fields: &Map<String, Value>) -> u64 {
        match fields.get("timeout") {
            None | Some(Value::Null) => event.timeout_ms(),
            Some(value) => match value.as_f64().filter(|seconds| *seconds > 0.0) {
                Some(seconds) => ((seconds * 1_000.0) as u64).clamp(1, TIMEOUT_MS_MAX),
                None => {
                    self.warn(
                        event.name(),
                        "a timeout is no number of seconds; the usual one counts".to_owned(),
                    );
                    event.timeout_ms()
                }
            },
        }
    }

    fn on_timeout(&mut self, event: HookEvent, fields: &Map<String, Value>) -> OnTimeout {
        match fields.get("onTimeout").map(Value::as_str) {
            Some(Some("deny")) => OnTimeout::Deny,
            None | Some(Some("continue")) => OnTimeout::GoOn,
            Some(_) => {
                self.warn(
                    event.name(),
                    "onTimeout is neither \"deny\" nor \"continue\"; deny counts".to_owned(),
                );
                OnTimeout::Deny
            }
        }
    }

    fn only_if(&mut self, event: HookEvent, fields: &Map<String, Value>) -> Option<String> {
        let rule = text(fields, "if")?.to_owned();
        if let Err(error) = Rules::parse(&[], std::slice::from_ref(&rule), &[]) {
            self.warn(event.name(), format!("its \"if\" counts as always: {error}"));
            return None;
        }
        if !event.is_about_tool() {
            self.warn(event.name(), "an \"if\" is for tools only and counts as always here".to_owned());
            return None;
        }
        Some(rule)
    }
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    fields.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
}

fn command(fields: &Map<String, Value>) -> Result<HookAction, String> {
    let line = text(fields, "command").ok_or("a hook has no command and never runs")?;
    match text(fields, "shell") {
        None | Some("bash" | "sh") => {}
        Some(shell) => {
            let shell = clipped(shell, SHOWN_CHARS_MAX);
            return Err(format!("hooks for the shell {shell:?} are not supported and never run"));
        }
    }
    if line.chars().count() > COMMAND_CHARS_MAX || line.contains('\0') {
        return Err(format!(
            "a command is longer than {COMMAND_CHARS_MAX} characters, or no text, and never runs"
        ));
    }
    match fields.get("args") {
        None | Some(Value::Null) => Ok(HookAction::Shell(line.to_owned())),
        Some(Value::Array(arguments)) if arguments.len() <= PARTS_MAX => {
            let words =
                arguments.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            let words = words.ok_or("the args of a hook are not texts; it never runs")?;
            Ok(HookAction::Program(line.to_owned(), words))
        }
        Some(_) => Err("the args of a hook are not a short list; it never runs".to_owned()),
    }
}
