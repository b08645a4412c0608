"""Decodes requests of OTLP with the official messages, and prints what is in them as one JSON value."""
import gzip, json, sys

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def value(any_value):
    kind = any_value.WhichOneof("value")
    if kind == "array_value":
        return [value(one) for one in any_value.array_value.values]
    return getattr(any_value, kind)


def attributes(pairs):
    return {pair.key: value(pair.value) for pair in pairs}


def span(one):
    return {
        "name": one.name, "trace": one.trace_id.hex(), "id": one.span_id.hex(), "parent": one.parent_span_id.hex(),
        "kind": one.kind, "ms": (one.end_time_unix_nano - one.start_time_unix_nano) / 1e6, "status": one.status.code,
        "attributes": attributes(one.attributes),
        "links": [{"trace": link.trace_id.hex(), "id": link.span_id.hex(), **attributes(link.attributes)} for link in one.links],
    }


def point(one):
    told = {"attributes": attributes(one.attributes)}
    if hasattr(one, "bucket_counts"):
        return {**told, "count": one.count, "sum": one.sum, "buckets": sum(one.bucket_counts)}
    return {**told, "value": getattr(one, one.WhichOneof("value"))}


def metric(one):
    data = getattr(one, one.WhichOneof("data"))
    return {"name": one.name, "unit": one.unit, "points": [point(each) for each in data.data_points]}


spans, metrics, resources = [], [], []
for kind, path in zip(sys.argv[1::2], sys.argv[2::2]):
    body = open(path, "rb").read()
    body = gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body
    if kind == "traces":
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            resources.append(attributes(resource.resource.attributes))
            spans += [span(one) for scope in resource.scope_spans for one in scope.spans]
    else:
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            resources.append(attributes(resource.resource.attributes))
            # They count from the start: the last ones are all.
            metrics = [metric(one) for scope in resource.scope_metrics for one in scope.metrics]
print(json.dumps({"spans": spans, "metrics": metrics, "resources": resources}))
