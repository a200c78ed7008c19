/* SPDX-License-Identifier: MIT */
/* The slowest ops as OpenTelemetry spans: OTLP's JSON encoding (opentelemetry-proto 1.0), an object
 * as it is posted to /v1/traces. An op is a trace of its own; its stages are spans below it, one
 * after the other in the order of the path. */
#include <inttypes.h>

#include "flame_out.h"
#include "renderers.h"

/* The mixing step of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15ull;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

/* The same op has the same number in every report. */
static uint64_t number_of(const struct report_exemplar *op)
{
    uint64_t number = mix(op->client);
    number = mix(number ^ op->tid);
    number = mix(number ^ op->start_ns);
    return mix(number ^ op->latency_ns);
}

/* Ids of zeros are invalid. */
static uint64_t span_id(uint64_t number, size_t span)
{
    uint64_t id = mix(number + span);
    return id ? id : 1;
}

static void write_span(const char *name, uint64_t number, size_t span, uint64_t begin_ns,
                       uint64_t end_ns, FILE *out)
{
    fprintf(out, "{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\"",
            mix(~number) | 1, number, span_id(number, span));
    if (span > 0)
        fprintf(out, ",\"parentSpanId\":\"%016" PRIx64 "\"", span_id(number, 0));
    fputs(",\"name\":", out);
    flame_out_json(name, out);
    fprintf(out,
            ",\"kind\":%d,\"startTimeUnixNano\":\"%" PRIu64 "\",\"endTimeUnixNano\":\"%" PRIu64
            "\"",
            span == 0 ? 2 : 1, begin_ns, end_ns);
}

static void write_attribute(const char *key, uint64_t value, bool first, FILE *out)
{
    fprintf(out, "%s{\"key\":\"%s\",\"value\":{\"intValue\":\"%" PRIu64 "\"}}", first ? "" : ",",
            key, value);
}

static void write_text_attribute(const char *key, const char *value, bool first, FILE *out)
{
    fprintf(out, "%s{\"key\":\"%s\",\"value\":{\"stringValue\":", first ? "" : ",", key);
    flame_out_json(value, out);
    fputs("}}", out);
}

static void write_op(const struct report_exemplar *op, FILE *out)
{
    uint64_t number = number_of(op), at = op->start_ns;
    write_span(op->type, number, 0, at, at + op->latency_ns, out);
    fputs(",\"attributes\":[", out);
    write_attribute("optrail.client", op->client, true, out);
    write_attribute("optrail.tid", op->tid, false, out);
    write_attribute("optrail.unattributed_ns", op->unattributed_ns, false, out);
    fputs("]}", out);
    for (size_t i = 0; i < op->stage_count; i++) {
        fputs(",\n", out);
        write_span(op->stages[i].name, number, i + 1, at, at + op->stages[i].ns, out);
        fputc('}', out);
        at += op->stages[i].ns;
    }
}

int render_otlp(const struct report *report, const struct render_options *options, FILE *out)
{
    (void)options;
    fputs("{\"resourceSpans\":[{\"resource\":{\"attributes\":[", out);
    write_text_attribute("service.name",
                         *report->source.daemon ? report->source.daemon : "unknown_service", true,
                         out);
    write_text_attribute("service.instance.id", report->source.id, false, out);
    write_text_attribute("service.version", report->source.version, false, out);
    write_attribute("process.pid", (uint64_t)report->source.pid, false, out);
    fputs("]},\n\"scopeSpans\":[{\"scope\":{\"name\":\"optrail\",\"version\":\"" OPTRAIL_VERSION
          "\"},\"spans\":[\n",
          out);
    for (size_t i = 0; i < report->exemplar_count; i++) {
        fputs(i ? ",\n" : "", out);
        write_op(&report->exemplars[i], out);
    }
    fputs("\n]}]}]}\n", out);
    return flame_out_check(out);
}
