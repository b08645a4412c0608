//! What is counted of all sessions of a process. Pure: events in, metrics out.

use std::collections::{BTreeMap, HashMap};

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Histogram as HistogramData, HistogramDataPoint, Metric, NumberDataPoint, Sum,
};
use posse_protocol::{AgentId, Event, EventKind, Report, Usage};

use crate::attributes::text;
use crate::histogram::{Buckets, Histogram};
use crate::limits::SERIES_MAX;
use crate::open_span::nanos;
use crate::provider::provider;
use crate::{content, names};

/// What a series is about: names and values of attributes.
type Labels = Vec<(&'static str, String)>;
type SeriesKey = (&'static str, Labels);

/// Counts from when it was made.
pub(crate) struct Meter {
    since_ms: u64,
    whole: BTreeMap<SeriesKey, i64>,
    money: BTreeMap<SeriesKey, f64>,
    histograms: BTreeMap<SeriesKey, Histogram>,
    agents: HashMap<AgentId, AgentCount>,
}

/// What is known of an agent until it ends.
#[derive(Default)]
struct AgentCount {
    role: String,
    provider: String,
    model: String,
    began_ms: Option<u64>,
    queued: bool,
    turns: u64,
    calls: u64,
}

impl AgentCount {
    fn model_labels(&self) -> Labels {
        vec![
            (names::OPERATION, names::CHAT.to_owned()),
            (names::PROVIDER, self.provider.clone()),
            (names::REQUEST_MODEL, self.model.clone()),
        ]
    }
}

impl Meter {
    pub(crate) fn new(since_ms: u64) -> Self {
        Self {
            since_ms,
            whole: BTreeMap::new(),
            money: BTreeMap::new(),
            histograms: BTreeMap::new(),
            agents: HashMap::new(),
        }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::AgentQueued { .. } => {
                let agent = self.agents.entry(event.agent).or_default();
                if !std::mem::replace(&mut agent.queued, true) {
                    self.add(names::M_QUEUED, Labels::new(), 1);
                }
            }
            EventKind::AgentStarted { role, model, model_id, .. } => {
                let agent = self.agents.entry(event.agent).or_default();
                agent.role.clone_from(role);
                (agent.provider, agent.model) = (provider(model, model_id), model_id.clone());
                self.began(event);
            }
            EventKind::AgentResumed { model, model_id, .. } => {
                let agent = self.agents.entry(event.agent).or_default();
                if !model_id.is_empty() {
                    (agent.provider, agent.model) = (provider(model, model_id), model_id.clone());
                }
                self.began(event);
            }
            EventKind::AgentWoken { .. } => self.began(event),
            EventKind::SettingsChanged { model, model_id, .. } => {
                let agent = self.agents.entry(event.agent).or_default();
                (agent.provider, agent.model) = (provider(model, model_id), model_id.clone());
            }
            EventKind::Replied { reply, duration_ms, cost_usd, .. } => {
                self.replied(event.agent, &reply.usage, *duration_ms, *cost_usd);
            }
            EventKind::ModelFailed { error, .. } => {
                let mut labels = self.agents.entry(event.agent).or_default().model_labels();
                labels.push((names::ERROR_TYPE, content::word(&error.kind)));
                // How long it took is not on record.
                self.record(names::M_INFERENCE, labels, Buckets::Seconds, 0.0);
            }
            EventKind::ToolFinished { tool, ok, duration_ms, .. } => {
                self.agents.entry(event.agent).or_default().calls += 1;
                let mut labels = vec![(names::TOOL_NAME, tool.clone())];
                labels.extend((!ok).then(|| (names::ERROR_TYPE, "tool_failed".to_owned())));
                self.record(names::M_TOOL, labels, Buckets::Seconds, seconds(*duration_ms));
            }
            EventKind::AgentRested { report } => self.ended(event, report.as_ref()),
            EventKind::AgentSettled { report } => {
                self.ended(event, Some(report));
                self.agents.remove(&event.agent);
            }
            EventKind::SessionInterrupted { agents, .. } => {
                for agent in agents {
                    self.stopped(*agent);
                    self.agents.remove(agent);
                }
            }
            _ => {}
        }
    }

    fn began(&mut self, event: &Event) {
        let agent = self.agents.entry(event.agent).or_default();
        let (waited, ran) =
            (std::mem::take(&mut agent.queued), agent.began_ms.replace(event.at_ms).is_some());
        (agent.turns, agent.calls) = (0, 0);
        self.add(names::M_QUEUED, Labels::new(), -i64::from(waited));
        self.add(names::M_RUNNING, Labels::new(), i64::from(!ran));
    }

    /// It does not run any more, and does not wait to.
    fn stopped(&mut self, agent: AgentId) -> Option<u64> {
        let agent = self.agents.entry(agent).or_default();
        let (waited, began) = (std::mem::take(&mut agent.queued), agent.began_ms.take());
        self.add(names::M_QUEUED, Labels::new(), -i64::from(waited));
        self.add(names::M_RUNNING, Labels::new(), -i64::from(began.is_some()));
        began
    }

    fn ended(&mut self, event: &Event, report: Option<&Report>) {
        let Some(began_ms) = self.stopped(event.agent) else { return };
        let agent = self.agents.entry(event.agent).or_default();
        let (turns, calls) = (agent.turns, agent.calls);
        let mut labels = vec![(names::ROLE, agent.role.clone()), (names::REQUEST_MODEL, agent.model.clone())];
        let failed = report.filter(|report| report.ending.error_message().is_some());
        labels.extend(failed.map(|report| (names::ERROR_TYPE, report.ending.word().to_owned())));
        let took = seconds(event.at_ms.saturating_sub(began_ms));
        self.record(names::M_AGENT, labels.clone(), Buckets::Seconds, took);
        self.record(names::M_AGENT_CALLS, labels.clone(), Buckets::Counts, turns as f64);
        self.record(names::M_AGENT_TOOLS, labels, Buckets::Counts, calls as f64);
    }

    fn replied(&mut self, agent: AgentId, usage: &Usage, duration_ms: u64, cost_usd: Option<f64>) {
        let agent = self.agents.entry(agent).or_default();
        agent.turns += 1;
        let labels = agent.model_labels();
        for (name, tokens) in [
            (names::M_INPUT, usage.input_tokens),
            (names::M_OUTPUT, usage.output_tokens),
            (names::M_CACHE_READ, usage.cached_tokens),
            (names::M_CACHE_WRITE, usage.cache_write_tokens),
            (names::M_REASONING, usage.reasoning_tokens),
        ] {
            let tokens = tokens.and_then(|tokens| i64::try_from(tokens).ok());
            tokens.into_iter().for_each(|tokens| self.add(name, labels.clone(), tokens));
        }
        if let Some(cost) = cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0) {
            let key = room(&self.money, (names::M_COST, labels.clone()));
            *self.money.entry(key).or_default() += cost;
        }
        self.record(names::M_INFERENCE, labels, Buckets::Seconds, seconds(duration_ms));
    }

    fn add(&mut self, name: &'static str, labels: Labels, number: i64) {
        let key = room(&self.whole, (name, labels));
        let counted = self.whole.entry(key).or_default();
        *counted = counted.saturating_add(number);
    }

    fn record(&mut self, name: &'static str, labels: Labels, buckets: Buckets, value: f64) {
        let key = room(&self.histograms, (name, labels));
        self.histograms.entry(key).or_insert_with(|| Histogram::new(buckets)).add(value);
    }

    /// All of it, as it is now.
    pub(crate) fn metrics(&self, now_ms: u64) -> Vec<Metric> {
        let mut metrics = Metrics { list: Vec::new() };
        let (start, now) = (nanos(self.since_ms), nanos(now_ms.max(self.since_ms)));
        let point = |labels: &Labels, value| NumberDataPoint {
            attributes: attributes(labels),
            start_time_unix_nano: start,
            time_unix_nano: now,
            value: Some(value),
            ..NumberDataPoint::default()
        };
        for ((name, labels), number) in &self.whole {
            metrics.number(name, point(labels, Number::AsInt(*number)));
        }
        for ((name, labels), number) in &self.money {
            metrics.number(name, point(labels, Number::AsDouble(*number)));
        }
        for ((name, labels), histogram) in &self.histograms {
            metrics.histogram(name, histogram.point(attributes(labels), start, now));
        }
        metrics.list
    }
}

/// The key, or where there are too many series, one for all the rest.
fn room<V>(series: &BTreeMap<SeriesKey, V>, key: SeriesKey) -> SeriesKey {
    let full = series.len() >= SERIES_MAX && !series.contains_key(&key);
    if full { (key.0, vec![("otel.metric.overflow", "true".to_owned())]) } else { key }
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| text(name, value)).collect()
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}

/// Metrics as they are put together: the points of one stand together.
struct Metrics {
    list: Vec<Metric>,
}

impl Metrics {
    fn of(&mut self, name: &str, data: impl FnOnce() -> Data) -> Option<&mut Data> {
        if self.list.last().is_none_or(|last| last.name != name) {
            let (unit, description) = described(name);
            self.list.push(Metric {
                name: name.to_owned(),
                description: description.to_owned(),
                unit: unit.to_owned(),
                data: Some(data()),
                ..Metric::default()
            });
        }
        self.list.last_mut().and_then(|last| last.data.as_mut())
    }

    fn number(&mut self, name: &str, point: NumberDataPoint) {
        let is_monotonic = !matches!(name, names::M_RUNNING | names::M_QUEUED);
        let sum = || {
            Data::Sum(Sum {
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                is_monotonic,
                ..Sum::default()
            })
        };
        if let Some(Data::Sum(sum)) = self.of(name, sum) {
            sum.data_points.push(point);
        }
    }

    fn histogram(&mut self, name: &str, point: HistogramDataPoint) {
        let data = || {
            Data::Histogram(HistogramData {
                aggregation_temporality: AggregationTemporality::Cumulative.into(),
                ..HistogramData::default()
            })
        };
        if let Some(Data::Histogram(histogram)) = self.of(name, data) {
            histogram.data_points.push(point);
        }
    }
}

/// The unit of a metric, and what it is.
fn described(name: &str) -> (&'static str, &'static str) {
    match name {
        names::M_INPUT => ("{token}", "Tokens of requests to models, cached ones included"),
        names::M_OUTPUT => ("{token}", "Tokens of replies, reasoning included"),
        names::M_CACHE_READ => ("{token}", "Tokens of requests that providers read from their caches"),
        names::M_CACHE_WRITE => ("{token}", "Tokens of requests that providers wrote into their caches"),
        names::M_REASONING => ("{token}", "Tokens of replies that were reasoning"),
        names::M_INFERENCE => ("s", "How long model calls took, retries included"),
        names::M_AGENT => ("s", "How long agents worked on a task or a prompt"),
        names::M_AGENT_CALLS => ("{call}", "Model calls of an agent for a task or a prompt"),
        names::M_AGENT_TOOLS => ("{call}", "Tool calls of an agent for a task or a prompt"),
        names::M_TOOL => ("s", "How long tool calls took"),
        names::M_COST => ("{USD}", "What model calls cost in US dollars, where prices are known"),
        names::M_RUNNING => ("{agent}", "Agents that work now"),
        names::M_QUEUED => ("{agent}", "Agents that wait for their start"),
        _ => ("", ""),
    }
}
