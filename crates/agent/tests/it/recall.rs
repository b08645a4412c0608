//! An agent recalled from its events at any point is the agent that wrote them. A failure prints the seed that replays
//! it.

use posse_agent::{Agent, Done, Input, Kin, Next, Recall, Settings, Step};
use posse_protocol::{Budget, Effect, Ending, EventKind, Message, Purpose, Receipt, Report, Sender, Words};

use crate::drive::{calls, image, says, settings};
use crate::simulation::{after_rest, answer};

const SEEDS: u64 = 400;
const STEPS_MAX: u64 = 400;

/// What an engine puts on record before the machine takes an input in.
fn recorded(turn: u32, input: &Input) -> Vec<EventKind> {
    match input {
        Input::Told { from, text } => vec![EventKind::mailed(*from, text.clone())],
        Input::Replied(reply) => {
            vec![EventKind::Replied { turn, reply: reply.clone(), duration_ms: 1, cost_usd: None }]
        }
        Input::ModelFailed(error) => vec![EventKind::ModelFailed { turn, error: error.clone() }],
        Input::ToolsDone(done)
        | Input::TimeUp { done, .. }
        | Input::Cancel { done, .. }
        | Input::Stop { done, .. }
        | Input::Interrupted { done, .. } => done.iter().flat_map(answered).collect(),
        Input::GoOn | Input::Compact | Input::Close | Input::Broken { .. } => Vec::new(),
    }
}

fn answered(done: &Done) -> Vec<EventKind> {
    let (call, tool) = (done.id.clone(), "t".to_string());
    let begun = EventKind::ToolStarted {
        call: call.clone(),
        tool: tool.clone(),
        title: "t".into(),
        repeatable: done.read_only,
        kind: posse_protocol::CallKind::Other,
        paths: Vec::new(),
    };
    let (ok, text) = (done.ok, done.text.clone());
    let ended = EventKind::ToolFinished {
        call,
        tool,
        ok,
        text,
        attachments: done.attachments.clone(),
        effects: Vec::new(),
        duration_ms: 1,
    };
    done.ran.then_some(begun).into_iter().chain([ended]).collect()
}

fn recall(settings: &Settings, events: &[EventKind]) -> posse_agent::Recalled {
    let mut recall = Recall::new(settings.clone(), &[]);
    events.iter().for_each(|event| recall.event(event));
    recall.finish()
}

/// The machine as data, but for the time, which the record does not keep step by step.
fn timeless(agent: &Agent) -> serde_json::Value {
    let mut value = serde_json::to_value(agent).expect("serialises");
    value["spent"]["time_ms"] = 0.into();
    // How often older messages were replaced only matters to whoever encodes them.
    value["conversation"]["epoch"] = 0.into();
    // Nothing is asked for again once only a last report is left.
    if !value["closing"].is_null() {
        value["empty_replies"] = 0.into();
        value["cut_replies"] = 0.into();
        value["beginnings"] = "".into();
    }
    value
}

/// Compares the agent with what its events make of it; the steps that were waited for must be the same, too.
fn check(agent: &Agent, kin: Kin, waiting: &Step, settings: &Settings, events: &[EventKind], ms: u64) {
    let recalled = recall(settings, events);
    let mut copy = recalled.agent;
    copy.set_kin(kin);
    match (recalled.next, waiting) {
        (Next::TakeIn(input), waiting) => assert_eq!(copy.handle(*input, ms).step, *waiting),
        (Next::CallModel { turn, purpose }, Step::CallModel { turn: t, purpose: p }) => {
            assert_eq!((turn, purpose), (*t, *p));
        }
        (Next::CallTools { calls, .. }, Step::CallTools { calls: wanted }) => assert_eq!(calls, *wanted),
        (Next::Rest, Step::Rest(_)) => assert!(agent.is_resting()),
        // Notes that were asked for while it rested are left out.
        (Next::Rest, Step::CallModel { purpose: Purpose::Summary, .. }) => return,
        (next, waiting) => panic!("it goes on with {next:?}, and should with {waiting:?}"),
    }
    let (recalled, live) = (timeless(&copy), timeless(agent));
    for (name, value) in live.as_object().expect("an object") {
        assert_eq!(recalled[name], *value, "{name}");
    }
    assert_eq!(recalled, live);
}

fn simulate(seed: u64) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed);
    let budget = Budget { turns: Some(rng.u32(1..60)), time_ms: Some(300), ..Budget::UNLIMITED };
    let context_window = rng.bool().then(|| rng.u64(400..6000));
    let (sum_up_over, stays) = (rng.bool().then_some(3), rng.bool());
    let settings = Settings { budget, context_window, sum_up_over, stays, ..settings() };
    let mut agent = Agent::new(settings.clone());
    let attachments = if rng.bool() { vec![image("task.png")] } else { Vec::new() };
    let mut input = Input::Told { from: Sender::Person, text: Words { text: "go".into(), attachments } };
    let (mut events, mut waiting) = (Vec::new(), Step::Wait);
    for ms in 0..STEPS_MAX {
        let kin = Kin { live: usize::from(rng.u8(0..4) == 0), tokens: rng.u64(0..100), cost_usd: 0.0 };
        agent.set_kin(kin);
        events.extend(recorded(agent.spent().turns, &input));
        if agent.is_resting() && matches!(input, Input::Told { .. }) {
            events.push(EventKind::AgentWoken { elapsed_ms: ms, budget });
        }
        let output = agent.handle(input, ms);
        events.extend(output.record);
        match output.step {
            Step::Settle(ending) => {
                let report = settled(&agent, ending.clone());
                events.push(EventKind::AgentSettled { report });
                let recalled = recall(&settings, &events);
                assert_eq!(recalled.next, Next::Settled(ending));
                assert_eq!(recalled.agent.conversation().messages(), agent.conversation().messages());
                assert_eq!(recalled.agent.last_words(), agent.last_words());
                return usize::try_from(ms).expect("a small number");
            }
            Step::Rest(ending) => {
                let report = agent.has_answer().then(|| settled(&agent, ending.clone()));
                events.push(EventKind::AgentRested { report });
                waiting = Step::Rest(ending);
            }
            Step::Wait if agent.is_idle() && !agent.is_resting() => waiting = Step::Wait,
            Step::Wait => {}
            step => waiting = step,
        }
        check(&agent, kin, &waiting, &settings, &events, ms);
        input = if agent.is_resting() {
            after_rest(&mut rng, ms)
        } else if agent.is_idle() {
            Input::Told { from: Sender::Reports, text: "a report".into() }
        } else {
            answer(&mut rng, &waiting)
        };
    }
    panic!("still running after {STEPS_MAX} steps");
}

fn settled(agent: &Agent, ending: Ending) -> Report {
    let (text, receipt) = (agent.last_words().to_string(), Receipt::default());
    Report { short: agent.in_short().map(str::to_string), ..Report::new(ending, text, receipt) }
}

/// Part of promise D2: the state at every step boundary comes back.
#[test]
fn at_every_step_of_every_seed_the_events_are_the_agent() {
    let mut steps = 0;
    for seed in 0..SEEDS {
        let result = std::panic::catch_unwind(|| simulate(seed));
        steps += result.unwrap_or_else(|_| panic!("seed {seed}: the events do not give the agent back"));
    }
    assert!(steps >= 2000, "only {steps} steps were compared");
}

fn started() -> (Settings, Agent, Vec<EventKind>) {
    let settings = settings();
    let mut agent = Agent::new(settings.clone());
    let events = agent.handle(Input::Told { from: Sender::Person, text: "go".into() }, 0).record;
    (settings, agent, events)
}

#[test]
fn calls_without_a_result_are_named_with_what_is_known_of_them() {
    let (settings, mut agent, mut events) = started();
    let reply = Input::Replied(calls(&[("read", "{}"), ("edit", "{}"), ("test", "{}")]));
    events.extend(recorded(1, &reply));
    events.extend(agent.handle(reply, 1).record);
    let done = Done {
        id: posse_protocol::CallId("c0".into()),
        ok: true,
        text: "r".into(),
        attachments: Vec::new(),
        ran: true,
        read_only: true,
    };
    events.extend(answered(&done));
    events.push(EventKind::ToolStarted {
        call: posse_protocol::CallId("c1".into()),
        tool: "edit".into(),
        title: "edit".into(),
        repeatable: false,
        kind: posse_protocol::CallKind::Other,
        paths: Vec::new(),
    });
    let Next::CallTools { calls, begun, done: known } = recall(&settings, &events).next else {
        panic!("calls are open")
    };
    assert_eq!(calls.iter().map(|call| call.id.0.as_str()).collect::<Vec<_>>(), ["c1", "c2"]);
    assert_eq!(begun.get(&posse_protocol::CallId("c1".into())), Some(&false));
    assert!(!begun.contains_key(&posse_protocol::CallId("c2".into())));
    assert_eq!(known, [done]);
}

#[test]
fn the_to_do_list_and_mail_that_was_not_told_come_back() {
    let (settings, _, mut events) = started();
    let call = posse_protocol::CallId("c0".into());
    events.push(EventKind::Replied {
        turn: 1,
        reply: calls(&[("todo", "{}")]),
        duration_ms: 1,
        cost_usd: None,
    });
    let effects = vec![Effect::Todo { text: "[ ] first".into() }];
    let (tool, text) = ("todo".to_string(), "kept".to_string());
    events.push(EventKind::ToolFinished {
        call,
        tool,
        ok: true,
        text,
        attachments: Vec::new(),
        effects,
        duration_ms: 1,
    });
    events.push(EventKind::mailed(Sender::Person, "hurry"));
    let mut recalled = recall(&settings, &events);
    assert_eq!(recalled.agent.pinned(posse_agent::TODO), Some("[ ] first"));
    let Next::TakeIn(input) = recalled.next else { panic!("the results are to be taken in") };
    recalled.agent.handle(*input, 1);
    let told = recalled.agent.conversation().messages().last().map(|message| (**message).clone());
    assert_eq!(told, Some(Message::user("hurry")));
}

#[test]
fn the_task_comes_before_what_was_mailed_until_then() {
    let mut recalled = recall(&settings(), &[EventKind::mailed(Sender::Parent, "hurry")]);
    let record = recalled.agent.handle(Input::Told { from: Sender::Parent, text: "go".into() }, 1).record;
    let told = record.into_iter().filter_map(|event| match event {
        EventKind::Told { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), ["go", "hurry"]);
}

#[test]
fn an_agent_that_had_ended_goes_on_with_what_it_knows() {
    let (settings, mut agent, mut events) = started();
    let reply = Input::Replied(says("All done here."));
    events.extend(recorded(1, &reply));
    agent.handle(reply, 1);
    events.push(EventKind::AgentSettled { report: settled(&agent, Ending::Completed) });
    let (budget, grant) = (Budget::UNLIMITED, posse_protocol::Grant::none());
    let (model, model_id) = (String::new(), String::new());
    events.push(EventKind::AgentResumed { model, model_id, elapsed_ms: 1, budget, grant });
    let mut agent = recall(&settings, &events).agent;
    let step = agent.handle(Input::Told { from: Sender::Person, text: "and now?".into() }, 2).step;
    assert!(matches!(step, Step::CallModel { turn: 2, .. }), "{step:?}");
    assert_eq!(agent.conversation().messages().len(), 3);
    assert_eq!(agent.task(), "go");
}
