//! What the environment says about exporting: the variables that all programs with OpenTelemetry share.

use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::KeyValue;
use percent_encoding::percent_decode_str;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::attributes::text;
use crate::limits::{
    HEADERS_MAX, METRICS_EVERY_MS, METRICS_EVERY_MS_MIN, REQUEST_MS, REQUEST_MS_MAX, RESOURCE_ATTRIBUTES_MAX,
};
use crate::names;
use crate::otlp::resource;

/// Whether texts are exported: prompts, replies, arguments, results.
pub const CONTENT_VARIABLE: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";

/// What is exported, and where to.
#[derive(Clone)]
pub struct TelemetrySettings {
    pub(crate) traces: Option<Collector>,
    pub(crate) metrics: Option<Collector>,
    pub(crate) resource: Vec<KeyValue>,
    pub(crate) content: bool,
    pub(crate) metrics_every: Duration,
}

/// Where requests of one kind go.
#[derive(Clone)]
pub(crate) struct Collector {
    pub(crate) url: Url,
    /// May hold keys; shown nowhere.
    pub(crate) headers: HeaderMap,
    pub(crate) deadline: Duration,
    pub(crate) gzip: bool,
    /// Whether it was named for requests of this kind, and not only for all kinds.
    pub(crate) for_this: bool,
}

impl Collector {
    /// Where it is, without what may be a secret.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.url.clone();
        // Neither can fail for an address with a host.
        let _ = (url.set_username(""), url.set_password(None));
        url.set_query(None);
        url.to_string()
    }
}

/// The environment, and what is wrong with it.
struct Reading<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    faults: Vec<String>,
}

impl TelemetrySettings {
    /// What variables say: nothing is exported unless they name a collector. What cannot be read is left out and told.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> (Option<Self>, Vec<String>) {
        let mut reading = Reading { variable, faults: Vec::new() };
        if reading.is_true("OTEL_SDK_DISABLED") {
            return (None, Vec::new());
        }
        let traces = reading.collector("TRACES", names::TRACES_PATH);
        let metrics = reading.collector("METRICS", names::METRICS_PATH);
        if traces.is_none() && metrics.is_none() {
            return (None, reading.faults);
        }
        let every = reading.number("OTEL_METRIC_EXPORT_INTERVAL").unwrap_or(METRICS_EVERY_MS);
        let settings = Self {
            traces,
            metrics,
            resource: reading.resource(),
            content: reading.is_true(CONTENT_VARIABLE),
            metrics_every: Duration::from_millis(every.max(METRICS_EVERY_MS_MIN)),
        };
        (Some(settings), reading.faults)
    }
}

impl Reading<'_> {
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    fn number(&mut self, name: &str) -> Option<u64> {
        let value = self.get(name)?;
        let number = value.parse().ok();
        if number.is_none() {
            self.faults.push(format!("{name} is not a number"));
        }
        number
    }

    /// A variable of one kind of export, else the one for all.
    fn of_kind(&self, kind: &str, what: &str) -> Option<(String, String)> {
        [format!("OTEL_EXPORTER_OTLP_{kind}_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")]
            .into_iter()
            .find_map(|name| Some((self.get(&name)?, name)))
    }

    fn collector(&mut self, kind: &str, path: &str) -> Option<Collector> {
        if self.get(&format!("OTEL_{kind}_EXPORTER")).is_some_and(|value| value == "none") {
            return None;
        }
        let (address, name) = self.of_kind(kind, "ENDPOINT")?;
        if let Some((protocol, name)) = self.of_kind(kind, "PROTOCOL").filter(|(it, _)| it != "http/protobuf")
        {
            self.faults.push(format!("{name} is {protocol}, and only http/protobuf is spoken"));
            return None;
        }
        let whole = name.ends_with(&format!("{kind}_ENDPOINT"));
        let address = if whole { address } else { format!("{}/{path}", address.trim_end_matches('/')) };
        let url = Url::parse(&address).ok();
        let Some(url) = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) else {
            self.faults
                .push(format!("{name} is not the address of a collector, such as http://localhost:4318"));
            return None;
        };
        let timeout = self.of_kind(kind, "TIMEOUT").and_then(|(_, name)| self.number(&name));
        Some(Collector {
            url,
            for_this: whole,
            headers: self.headers(kind),
            deadline: Duration::from_millis(timeout.unwrap_or(REQUEST_MS).clamp(1, REQUEST_MS_MAX)),
            gzip: self.of_kind(kind, "COMPRESSION").is_some_and(|(value, _)| value == "gzip"),
        })
    }

    fn headers(&mut self, kind: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let Some((value, variable)) = self.of_kind(kind, "HEADERS") else { return headers };
        for (name, value) in pairs(&value).take(HEADERS_MAX) {
            let name = HeaderName::from_bytes(name.as_bytes());
            match (name, HeaderValue::from_str(&value)) {
                (Ok(name), Ok(mut value)) => {
                    value.set_sensitive(true);
                    headers.insert(name, value);
                }
                _ => self.faults.push(format!("{variable} has a header that cannot be sent")),
            }
        }
        headers
    }

    fn resource(&self) -> Vec<KeyValue> {
        let given = self.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let given: Vec<(String, String)> = pairs(&given).take(RESOURCE_ATTRIBUTES_MAX).collect();
        let named =
            given.iter().find(|(name, _)| name == names::SERVICE_NAME).map(|(_, value)| value.clone());
        let service = self.get("OTEL_SERVICE_NAME").or(named).unwrap_or_else(|| names::SCOPE.to_owned());
        resource(&service, given.iter().map(|(name, value)| text(name, value)))
    }
}

/// `a=b,c=d`, with percent signs for characters that cannot stand there.
fn pairs(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        Some((name.trim().to_owned(), value.into_owned())).filter(|(name, _)| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Option<TelemetrySettings>, Vec<String>) {
        TelemetrySettings::read(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

    #[test]
    fn nothing_is_exported_unless_a_collector_is_named() {
        assert!(read(&[]).0.is_none());
        assert!(read(&[(ENDPOINT, " ")]).0.is_none());
        assert!(read(&[(ENDPOINT, "http://c:1"), ("OTEL_SDK_DISABLED", "TRUE")]).0.is_none());
        let none =
            [("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none"), (ENDPOINT, "http://c:1")];
        assert!(read(&none).0.is_none());
    }

    #[test]
    fn addresses_are_those_that_all_programs_use() {
        let both =
            read(&[(ENDPOINT, "http://c:4318/"), ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "https://m/x?k=v")]);
        let settings = both.0.unwrap();
        assert_eq!(settings.traces.unwrap().url.as_str(), "http://c:4318/v1/traces");
        let metrics = settings.metrics.unwrap();
        assert_eq!(metrics.url.as_str(), "https://m/x?k=v");
        assert_eq!(metrics.shown(), "https://m/x");
        assert!(!settings.content);
    }

    #[test]
    fn what_cannot_be_read_is_told_without_its_value() {
        let cases = [
            vec![(ENDPOINT, "c:4318")],
            vec![(ENDPOINT, "file:///secret")],
            vec![(ENDPOINT, "http://c:1"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")],
            vec![(ENDPOINT, "http://c:1"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "secret")],
            vec![(ENDPOINT, "http://c:1"), ("OTEL_EXPORTER_OTLP_HEADERS", "a b=secret")],
        ];
        for case in cases {
            let (_, faults) = read(&case);
            assert!(!faults.is_empty() && !faults.concat().contains("secret"), "{case:?} {faults:?}");
        }
    }

    #[test]
    fn headers_and_resources_are_lists() {
        let (settings, faults) = read(&[
            (ENDPOINT, "http://c:1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, api-key = y ,,nothing"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=mine,team=a%2Cb,service.version=9"),
            (CONTENT_VARIABLE, "true"),
        ]);
        let settings = settings.unwrap();
        assert_eq!(faults, Vec::<String>::new());
        let headers = settings.traces.unwrap().headers;
        assert_eq!(
            (headers["authorization"].to_str().unwrap(), headers["api-key"].to_str().unwrap()),
            ("Bearer x", "y")
        );
        let keys: Vec<_> = settings.resource.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(
            keys,
            ["service.name", "service.version", "telemetry.sdk.name", "telemetry.sdk.language", "team"]
        );
        assert!(format!("{:?}", settings.resource).contains("a,b") && settings.content);
    }
}
