"""Fields of requests that no path uses, unless it declares them: what would change an answer, and what would not."""

from collections.abc import Mapping

_ONE = "gives one answer to a request; send the request again with another seed"
_CHANCES = "does not change the chances of single tokens; use temperature, top_k, top_p, min_p or repeat_penalty"
_FORM = "holds an answer to a JSON schema alone, where the path takes one"
_LENGTH = "ends an answer at max_tokens, a stop text or where the model ends it"
_STORE = "stores nothing; send the whole conversation"
_TOOLS = "calls the functions in 'tools' alone"
_TEXT = "reads and writes text alone"
_PROMPT = "writes prompts by the model's own template"
_LOGPROBS = "gives the likeliest tokens by logprobs, in chats and completions"

UNUSED: Mapping[str, tuple[tuple[object, ...], str]] = {
    **dict.fromkeys(("n", "best_of", "num_return_sequences"), ((1,), _ONE)),
    "use_beam_search": ((False,), _ONE),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "mirostat", "dry_multiplier"), ((0,), _CHANCES)),
    **dict.fromkeys(("xtc_probability", "dynatemp_range", "top_a", "top_n_sigma"), ((0, -1), _CHANCES)),
    **dict.fromkeys(("typical_p", "typical", "tfs_z", "length_penalty"), ((1,), _CHANCES)),
    **dict.fromkeys(("logit_bias", "bad_words", "allowed_token_ids", "lora"), (({}, []), _CHANCES)),
    **dict.fromkeys(("guided_json", "guided_regex", "guided_choice", "guided_grammar"), ((), _FORM)),
    **dict.fromkeys(("structured_outputs", "regex", "ebnf", "structural_tag", "response_fields"), (({}, []), _FORM)),
    **dict.fromkeys(("grammar", "json_schema", "response_format", "output_format", "format"), (("", {}), _FORM)),
    **dict.fromkeys(("min_tokens", "min_length", "t_max_predict_ms"), ((0, -1), _LENGTH)),
    "ignore_eos": ((False,), _LENGTH),
    **dict.fromkeys(("stop_token_ids", "stop_regex"), (([], ""), _LENGTH)),
    "max_tool_calls": ((), _LENGTH),
    **dict.fromkeys(("previous_response_id", "conversation", "container"), ((), _STORE)),
    "background": ((False,), _STORE),
    **dict.fromkeys(("functions", "mcp_servers"), (([],), _TOOLS)),
    "function_call": (("none", "auto"), _TOOLS),
    "web_search_options": ((), _TOOLS),
    "modalities": ((["text"],), _TEXT),
    **dict.fromkeys(("audio", "mm_processor_kwargs"), ((), _TEXT)),
    "echo": ((False,), "does not repeat the prompt"),
    "suffix": (("",), "does not fill in the middle of a text"),
    **dict.fromkeys(("chat_template", "prompt", "prompt_embeds", "documents"), (("", []), _PROMPT)),
    "logprobs": ((False, 0), _LOGPROBS),
    **dict.fromkeys(("top_logprobs", "n_probs", "prompt_logprobs"), ((0,), _LOGPROBS)),
}
"""Names, each with the values that leave the answer as it is (null always does) and what this server does instead."""

HINTS = frozenset(
    {
        *("user", "metadata", "store", "service_tier", "prompt_cache_key", "prompt_cache_retention"),
        *("safety_identifier", "client_metadata", "cache_control", "cache_prompt", "context_management"),
        *("truncation", "prediction", "verbosity", "inference_geo", "timings_per_token", "betas"),
    }
)
"""Names of what changes neither form, length, choice nor state."""
