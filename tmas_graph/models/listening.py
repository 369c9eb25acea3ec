"""LangChain's callbacks: told of each request where a handler listens, else not paid for."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from langchain_core.callbacks import AsyncCallbackManager, BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langchain_core.runnables.config import (
    get_async_callback_manager_for_config,
    var_child_runnable_config,
)
from langsmith.utils import tracing_is_enabled

from tmas_graph.models.completion import Completion


async def heard(
    request: Callable[[], Awaitable[None]],
    chat: Callable[[], BaseChatModel],
    payload: Mapping[str, Any],
    completion: Completion,
) -> None:
    """Make the `request` that fills `completion`; tell it to whoever listens, as of `chat`."""
    manager = listeners()
    if manager is None:
        await request()
        return
    about = {name: value for name, value in payload.items() if name != "messages"}
    [run] = await manager.on_chat_model_start(
        dumpd(chat()),
        [convert_to_messages([dict(message) for message in payload["messages"]])],
        invocation_params=about,
        options={"stop": None},
        batch_size=1,
    )
    try:
        await request()
    except BaseException as error:
        await run.on_llm_error(error)
        raise
    result = chat_result(completion)
    await run.on_llm_end(LLMResult(generations=[result.generations], llm_output=result.llm_output))


def listeners() -> AsyncCallbackManager | None:
    """LangChain's handlers of the step that runs now; None if there are none."""
    config = var_child_runnable_config.get() or {}
    given = config.get("callbacks")
    handlers = given.handlers if isinstance(given, BaseCallbackManager) else given
    if not handlers and not tracing_is_enabled():
        return None
    manager = get_async_callback_manager_for_config(config)
    return manager if manager.handlers else None


def chat_result(completion: Completion) -> ChatResult:
    """A completion in LangChain's form."""
    generations = []
    for _, choice in sorted(completion.choices.items()):
        extra = {"thinking": "".join(choice.thinking), "refusal": "".join(choice.refusal)}
        message = AIMessage("".join(choice.text), additional_kwargs=extra)
        about = {"finish_reason": choice.finish_reason}
        generations.append(ChatGeneration(message=message, generation_info=about))
    output = {"token_usage": completion.usage, "model_name": completion.model}
    return ChatResult(generations=generations, llm_output=output)
