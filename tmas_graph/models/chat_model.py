"""LangChain's model of an endpoint, for who looks on; loading its packages takes a second."""

from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr

from tmas_graph.models.completion import Completion
from tmas_graph.models.listening import chat_result
from tmas_graph.models.transport import Connection, Patience


class ThinkingChatOpenAI(ChatOpenAI):
    """ChatOpenAI that keeps thinking, refusals and several streamed replies apart."""

    _connection: Connection = PrivateAttr()

    def __init__(self, connection: Connection, **fields: Any) -> None:
        """Send over `connection`; `fields` are ChatOpenAI's."""
        # Retries have one owner, which isn't this; streams of several replies are read here.
        super().__init__(max_retries=0, disable_streaming=True, **fields)
        self._connection = connection

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        """Send one request as LangChain asks for it, without a stream.

        Raises:
            Fault: no usable answer came.
        """
        payload = self._get_request_payload(messages, stop=stop, **kwargs)
        payload |= payload.pop("extra_body", None) or {}
        completion = Completion()
        await self._connection.complete(payload, Patience(), completion)
        return chat_result(completion)
