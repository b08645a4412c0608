//! Runs that are written down agent by agent in a `script.json`, recorded into the cassette beside it and played from
//! there. What plays is the real binary with its real tools; only the models' words are fixed.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use posse_protocol::Usage;
use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::posse::{Person, Ran, text};

/// Set, the cassettes are recorded anew before they are played.
const UPDATE: &str = "POSSE_UPDATE_CASSETTES";
/// About how many bytes of text make a token; for usage that looks like a model's.
const BYTES_PER_TOKEN: usize = 4;

/// A folder with `script.json`, `cassette.jsonl`, `posse.toml`, and the workspace in `files`.
pub(crate) struct Scripted {
    folder: PathBuf,
    script: Script,
    git: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    prompt: String,
    /// Further arguments of `posse run`.
    #[serde(default)]
    args: Vec<String>,
    /// Where it depends on speed what comes first: by how much the replies to each agent are late, once a recording.
    #[serde(default = "no_delays")]
    delays_ms: Vec<HashMap<String, u64>>,
    agents: BTreeMap<String, VecDeque<ScriptTurn>>,
}

fn no_delays() -> Vec<HashMap<String, u64>> {
    vec![HashMap::new()]
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptTurn {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<ScriptCall>,
    /// Left out once a report has come: there is nothing to wait for any more.
    #[serde(default)]
    unless_reported: bool,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    name: String,
    arguments: Value,
}

/// A run that was played.
pub(crate) struct Played {
    pub(crate) person: Person,
    pub(crate) events: Vec<Value>,
    /// What `posse tasks --json` tells, by the agents' names.
    pub(crate) agents: BTreeMap<String, Value>,
}

impl Scripted {
    pub(crate) fn in_folder(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        let script = std::fs::read(folder.join("script.json")).unwrap();
        let script = serde_json::from_slice(&script).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        Self { folder, script, git: false }
    }

    /// The workspace is a repository.
    pub(crate) fn git(mut self) -> Self {
        self.git = true;
        self
    }

    fn project(&self) -> Fixture {
        let files = self.folder.join("files");
        let mut project = Fixture::new();
        let mut folders = vec![files.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = text(path.strip_prefix(&files).unwrap());
                    project = project.file(&name, std::fs::read(&path).unwrap());
                }
            }
        }
        if self.git { project.git() } else { project }
    }

    /// Records the cassette anew where that is wished.
    fn update(&self) {
        if std::env::var_os(UPDATE).is_none() {
            return;
        }
        let mut tape = Tape::default();
        for delays_ms in &self.script.delays_ms {
            tape.add(&self.record(delays_ms.clone()));
        }
        tape.add_earlier_reports();
        std::fs::write(self.folder.join("cassette.jsonl"), tape.to_string()).unwrap();
    }

    /// One run against a model that says what the script says; the recording's exchanges.
    fn record(&self, delays_ms: HashMap<String, u64>) -> Vec<Value> {
        let scripts = Mutex::new(self.script.agents.clone());
        let calls = Mutex::new(HashMap::new());
        let model = FakeModel::by_rule_blocking(move |request| {
            let name = asker(&request.json());
            let turn = next_turn(&mut scripts.lock().unwrap(), &name, request);
            let before = *calls.lock().unwrap().get(&name).unwrap_or(&0);
            calls.lock().unwrap().insert(name.clone(), before + turn.calls.len());
            let delay_ms = delays_ms.get(&name).copied().unwrap_or(0);
            turn.reply(before, request.body.len()).delay(Duration::from_millis(delay_ms))
        });
        let person = Person::with_model(model, self.project());
        person.configure(&live_config(&self.folder, &person.model.base_url()));
        let tape = person.data_dir().with_file_name("tape.jsonl");
        let ran = self.run(&person, &person.config(), &["--record", &text(&tape)]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let lines = std::fs::read_to_string(&tape).unwrap();
        lines.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn run(&self, person: &Person, config: &Path, more: &[&str]) -> Ran {
        let config = text(config);
        let mut args = vec!["--config", config.as_str(), "run"];
        args.extend(self.script.args.iter().map(String::as_str));
        args.extend(more);
        args.push(&self.script.prompt);
        person.posse(&args)
    }

    /// Plays the cassette; nothing else is there to answer.
    pub(crate) fn play(&self) -> Played {
        self.update();
        let person = Person::with_model(FakeModel::start_blocking(), self.project());
        let ran = self.run(&person, &self.folder.join("posse.toml"), &["--json"]);
        let events = ran.events();
        let failed = events.iter().find(|event| event["type"] == "model_failed");
        let why = failed.and_then(|event| event["error"]["message"].as_str()).unwrap_or(&ran.stderr);
        assert_eq!(ran.code, Some(0), "{}\n{why}", again(&self.folder));
        assert_eq!(person.model.calls(), 0, "the models are recordings");
        let agents = agents(&person, "last");
        let scripted = self.script.agents.keys().cloned().collect::<Vec<_>>();
        assert_eq!(agents.keys().cloned().collect::<Vec<_>>(), scripted, "the agents of the script");
        Played { person, events, agents }
    }
}

/// What to do when a cassette does not fit any more.
pub(crate) fn again(folder: &Path) -> String {
    format!(
        "The cassette in {} does not fit what models are told now. Where that is meant, record it again with {UPDATE}=1 \
         and read the diff of script and cassette.",
        folder.display()
    )
}

/// What is told of each agent, by name.
pub(crate) fn agents(person: &Person, session: &str) -> BTreeMap<String, Value> {
    let told = person.posse(&["tasks", session, "--json"]).events();
    told.into_iter().map(|agent| (agent["name"].as_str().unwrap().to_string(), agent)).collect()
}

/// Role, status and turns of each agent.
pub(crate) fn outcomes(agents: &BTreeMap<String, Value>) -> Vec<(&str, &str, &str, u64)> {
    let told = agents.iter().map(|(name, agent)| {
        let word = |key: &str| agent[key].as_str().unwrap();
        (name.as_str(), word("role"), word("status"), agent["turns"].as_u64().unwrap())
    });
    told.collect()
}

impl Played {
    /// The reports of the agent with this name.
    pub(crate) fn report(&self, name: &str) -> &Value {
        let id = &self.agents[name]["agent"];
        let mut settled = self.events.iter().filter(|event| event["agent"] == *id);
        let settled = settled.rfind(|event| event["type"] == "agent_settled");
        &settled.unwrap_or_else(|| panic!("{name} has not settled: {:#?}", self.events))["report"]
    }

    /// What the main agent says at the end.
    pub(crate) fn answer(&self) -> &str {
        self.report("main")["text"].as_str().unwrap()
    }

    /// The texts of an agent's results, in order.
    pub(crate) fn results(&self, name: &str) -> Vec<&str> {
        let id = &self.agents[name]["agent"];
        let finished = self.events.iter().filter(|e| e["agent"] == *id && e["type"] == "tool_finished");
        finished.map(|event| event["text"].as_str().unwrap()).collect()
    }

    /// Asserts that no report holds anything that does not stand up to a check.
    pub(crate) fn no_warnings(&self) {
        for name in self.agents.keys() {
            assert_eq!(self.report(name).get("warnings").unwrap_or(&json!([])), &json!([]), "{name}");
        }
    }
}

fn next_turn(
    scripts: &mut BTreeMap<String, VecDeque<ScriptTurn>>,
    name: &str,
    request: &Captured,
) -> ScriptTurn {
    let turns = scripts.get_mut(name).unwrap_or_else(|| panic!("no script for {name}"));
    let reported = String::from_utf8_lossy(&request.body).contains("<report from=");
    let mut next = turns.pop_front();
    while next.as_ref().is_some_and(|turn| turn.unless_reported && reported) {
        next = turns.pop_front();
    }
    next.unwrap_or_else(|| panic!("the script of {name} has no turn for {}", request.json()))
}

impl ScriptTurn {
    /// The reply to a request of so many bytes, after so many calls.
    fn reply(&self, calls_before: usize, request_bytes: usize) -> Turn {
        let mut bytes = self.text.len();
        let mut turn = Turn::text(&self.text);
        for (index, call) in self.calls.iter().enumerate() {
            bytes += call.name.len() + call.arguments.to_string().len();
            let id = format!("c{}", calls_before + index + 1);
            turn = turn.and_call(&call.name, call.arguments.clone()).id(id);
        }
        let tokens = |bytes: usize| Some((bytes / BYTES_PER_TOKEN) as u64);
        turn.usage(Usage {
            input_tokens: tokens(request_bytes),
            output_tokens: tokens(bytes),
            ..Usage::default()
        })
    }
}

/// The configuration of the example with a server in place of its recordings.
fn live_config(folder: &Path, endpoint: &str) -> String {
    let config = std::fs::read_to_string(folder.join("posse.toml")).unwrap();
    let mut config: toml::Table = config.parse().unwrap();
    for (name, model) in config["models"].as_table_mut().unwrap() {
        let model = model.as_table_mut().unwrap();
        assert!(model.remove("protocol").is_some() && model.remove("cassette").is_some(), "{name} replays");
        model.insert("endpoint".into(), endpoint.into());
        model.insert("model".into(), "fake-model".into());
        // A recording takes as many as there are; a server on this machine would get one request at a time.
        model.entry("max_concurrent").or_insert(16.into());
    }
    config.to_string()
}

/// A cassette that is being put together: exchanges of one or several recordings, each once.
#[derive(Default)]
struct Tape {
    exchanges: Vec<Exchange>,
}

#[derive(Clone)]
struct Exchange {
    agent: String,
    after: Option<usize>,
    new: Vec<Value>,
    reply: Value,
}

impl Tape {
    fn add(&mut self, recorded: &[Value]) {
        let mut places: HashMap<u64, usize> = HashMap::new();
        for line in recorded {
            let after = line["after"].as_u64().map(|id| places[&id]);
            let agent = match after {
                Some(before) => self.exchanges[before].agent.clone(),
                None => asker(&json!({"messages": [{"role": "system", "content": line["system"]}]})),
            };
            let new = line["new"].as_array().unwrap().clone();
            let place = self.place(Exchange { agent, after, new, reply: small(&line["reply"]) });
            places.insert(line["id"].as_u64().unwrap(), place);
        }
    }

    /// Where this exchange is; added unless one with the same request is there.
    fn place(&mut self, exchange: Exchange) -> usize {
        let same = |known: &Exchange| known.after == exchange.after && known.new == exchange.new;
        self.exchanges.iter().position(same).unwrap_or_else(|| {
            self.exchanges.push(exchange);
            self.exchanges.len() - 1
        })
    }

    /// A report that came after a turn could have come before it, had its agent been faster than any model is.
    fn add_earlier_reports(&mut self) {
        for at in 0..self.exchanges.len() {
            let Exchange { after, mut new, .. } = self.exchanges[at].clone();
            let pushed = new.len() > 1 && new.last().is_some_and(|last| last["author"] == "user");
            let Some(before) = after.filter(|_| pushed) else { continue };
            assert!(
                self.exchanges.iter().all(|other| other.after != Some(at)),
                "the last turn is the one that takes the report in"
            );
            let mut earlier = self.exchanges[before].clone();
            earlier.new.extend(new.pop());
            let after = self.place(earlier);
            // One that was recorded goes on in its own way.
            if after == self.exchanges.len() - 1 {
                self.place(Exchange { after: Some(after), new, ..self.exchanges[at].clone() });
            }
        }
    }
}

/// One line an exchange, each agent's together.
impl std::fmt::Display for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut order = (0..self.exchanges.len()).collect::<Vec<_>>();
        order.sort_by_key(|at| {
            let agent = &self.exchanges[*at].agent;
            (agent != "main", agent.trim_end_matches(char::is_numeric), agent.len(), agent, *at)
        });
        writeln!(f, "{}", json!({"posse_cassette": 1, "match": "conversation"}))?;
        let id = |at: usize| order.iter().position(|other| *other == at).unwrap() + 1;
        for at in &order {
            let Exchange { after, new, reply, .. } = &self.exchanges[*at];
            let mut line = json!({"id": id(*at), "new": new, "reply": reply});
            if let Some(after) = after {
                line["after"] = json!(id(*after));
            }
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

/// A reply without what nobody asks for.
fn small(reply: &Value) -> Value {
    let mut reply = reply.clone();
    let fields = reply.as_object_mut().unwrap();
    fields.remove("model");
    fields["usage"].as_object_mut().unwrap().retain(|_, tokens| !tokens.is_null());
    reply
}
