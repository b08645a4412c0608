//! Every name that is not ours alone to choose: the GenAI conventions of OpenTelemetry, which are still in development, and
//! our own additions. When the conventions change, this file does.

/// Version 1 of OTLP over HTTP.
pub(crate) const TRACES_PATH: &str = "v1/traces";
pub(crate) const METRICS_PATH: &str = "v1/metrics";

pub(crate) const SCOPE: &str = "posse";
pub(crate) const SERVICE_NAME: &str = "service.name";
pub(crate) const SERVICE_VERSION: &str = "service.version";
pub(crate) const SERVICE_INSTANCE: &str = "service.instance.id";
pub(crate) const SDK_NAME: &str = "telemetry.sdk.name";
pub(crate) const SDK_LANGUAGE: &str = "telemetry.sdk.language";

// Operations, which begin the names of spans.
pub(crate) const CHAT: &str = "chat";
pub(crate) const INVOKE_AGENT: &str = "invoke_agent";
pub(crate) const EXECUTE_TOOL: &str = "execute_tool";

// Spans that the conventions have no name for.
pub(crate) const SESSION: &str = "session";
pub(crate) const WAIT_FOR_PERSON: &str = "wait_for_person";
pub(crate) const WAIT_IN_QUEUE: &str = "wait_in_queue";
pub(crate) const RUN_HOOK: &str = "run_hook";
pub(crate) const BACKGROUND_COMMAND: &str = "background_command";

// Attributes.
pub(crate) const OPERATION: &str = "gen_ai.operation.name";
pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
pub(crate) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(crate) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(crate) const AGENT_DESCRIPTION: &str = "gen_ai.agent.description";
pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(crate) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(crate) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(crate) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(crate) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(crate) const CACHE_READ_TOKENS: &str = "gen_ai.usage.cache_read.input_tokens";
pub(crate) const CACHE_WRITE_TOKENS: &str = "gen_ai.usage.cache_write.input_tokens";
pub(crate) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub(crate) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(crate) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(crate) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(crate) const TRANSFER_MODE: &str = "gen_ai.transfer.mode";
pub(crate) const TRANSFER_TARGET: &str = "gen_ai.transfer.target.name";
pub(crate) const ERROR_TYPE: &str = "error.type";

// Attributes with content: only where the person opts in.
pub(crate) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(crate) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(crate) const SYSTEM: &str = "gen_ai.system_instructions";
pub(crate) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(crate) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(crate) const WORKSPACE: &str = "posse.workspace";
pub(crate) const COMMAND: &str = "posse.command";
pub(crate) const QUESTION: &str = "posse.question";
pub(crate) const REPORT: &str = "posse.report";

// Attributes of ours.
pub(crate) const AGENT_ID: &str = "posse.agent.id";
pub(crate) const ROLE: &str = "posse.agent.role";
pub(crate) const DEPTH: &str = "posse.agent.depth";
pub(crate) const WORKER: &str = "posse.worker";
pub(crate) const RUN: &str = "posse.session.run";
pub(crate) const TURN: &str = "posse.turn";
pub(crate) const PURPOSE: &str = "posse.purpose";
pub(crate) const COST: &str = "posse.cost_usd";
pub(crate) const TURNS: &str = "posse.turns";
pub(crate) const TOOL_CALLS: &str = "posse.tool_calls";
pub(crate) const ENDING: &str = "posse.ending";
pub(crate) const WARNINGS: &str = "posse.report.warnings";
pub(crate) const UNFINISHED: &str = "posse.unfinished";
pub(crate) const REASON: &str = "posse.reason";
pub(crate) const ANSWER: &str = "posse.answer";
pub(crate) const HOOK_EVENT: &str = "posse.hook.event";
pub(crate) const DECISION: &str = "posse.hook.decision";
pub(crate) const EXIT_CODE: &str = "process.exit.code";
pub(crate) const LINK: &str = "posse.link";
pub(crate) const ATTEMPT: &str = "posse.attempt";
pub(crate) const DELAY: &str = "posse.delay_ms";
pub(crate) const BYTES_BEFORE: &str = "posse.bytes_before";
pub(crate) const BYTES_AFTER: &str = "posse.bytes_after";

// What a link is about.
pub(crate) const RESUMED: &str = "resumed";
pub(crate) const FORKED: &str = "forked";
pub(crate) const CONTINUES: &str = "continues";
pub(crate) const REPORTED: &str = "report";
pub(crate) const ASKED_AGAIN: &str = "asked_again";

// Moments in a span.
pub(crate) const RETRY: &str = "retry";
pub(crate) const COMPACTED: &str = "compacted";
pub(crate) const MOVED: &str = "moved";

// Values.
pub(crate) const RETURN_TO_CALLER: &str = "return_to_caller";
pub(crate) const FUNCTION: &str = "function";

// Metrics.
pub(crate) const M_INPUT: &str = "gen_ai.client.inference.usage.input_tokens";
pub(crate) const M_OUTPUT: &str = "gen_ai.client.inference.usage.output_tokens";
pub(crate) const M_CACHE_READ: &str = "gen_ai.client.inference.usage.cache_read.input_tokens";
pub(crate) const M_CACHE_WRITE: &str = "gen_ai.client.inference.usage.cache_write.input_tokens";
pub(crate) const M_REASONING: &str = "gen_ai.client.inference.usage.reasoning.output_tokens";
pub(crate) const M_INFERENCE: &str = "gen_ai.client.inference.duration";
pub(crate) const M_AGENT: &str = "gen_ai.invoke_agent.duration";
pub(crate) const M_AGENT_CALLS: &str = "gen_ai.invoke_agent.inference_calls";
pub(crate) const M_AGENT_TOOLS: &str = "gen_ai.invoke_agent.tool_calls";
pub(crate) const M_TOOL: &str = "gen_ai.execute_tool.duration";
pub(crate) const M_COST: &str = "posse.cost";
pub(crate) const M_RUNNING: &str = "posse.agents.running";
pub(crate) const M_QUEUED: &str = "posse.agents.queued";
