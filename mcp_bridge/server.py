"""The MCP server: tools, resources and prompts, the same over HTTP, standard input and the local socket.

It uses the SDK's low-level `Server` and not `MCPServer`: the list of tools differs from caller to caller, the schemas
are those the verbs check, and an unknown argument is refused where `MCPServer` would drop it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mcp_types as types
import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from accounts.principals import Principal
from fluxcore import config
from fluxcore.version import VERSION
from mcp_bridge import errors, prompts, registry, resources
from mcp_bridge.instructions import instructions
from mcp_bridge.registry import Tool
from mcp_bridge.threads import RunInThread

Context = ServerRequestContext[Any, Any]
# Finds the caller, for each message again, so that revoked rights end with the next message.
FindCaller = Callable[[Context], Principal]
Page = types.PaginatedRequestParams | None
_GREETINGS = ("initialize", "server/discover")


def build_server(who: FindCaller, run_in_thread: RunInThread, ceiling: Callable[[Context], str]) -> Server[Any]:
    """A server that finds its caller with `who` and runs blocking work with `run_in_thread`.

    `ceiling` is the caller's maximum provenance and must be known without a database query.
    """

    async def list_tools(ctx: Context, params: Page) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await run_in_thread(_shown, who, ctx))

    async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await run_in_thread(run_tool, who, ctx, params.name, params.arguments)  # type: ignore[no-any-return]

    async def list_resources(ctx: Context, params: Page) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=resources.LISTED)

    async def list_templates(ctx: Context, params: Page) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.TEMPLATES)

    async def read_resource(ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        return await run_in_thread(resources.read, who, ctx, str(params.uri))  # type: ignore[no-any-return]

    async def list_prompts(ctx: Context, params: Page) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=prompts.LISTED)

    async def get_prompt(ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        return prompts.get(params.name, params.arguments or {}, ceiling(ctx))

    async def instruct(ctx: Context, call_next: Any) -> Any:
        """Middleware that adds instructions for the caller's maximum provenance to the answer to a handshake."""
        answer = await call_next(ctx)
        return {**answer, "instructions": instructions(ceiling(ctx))} if ctx.method in _GREETINGS else answer

    server: Server[Any] = Server(
        config.current().MCP_SERVER_NAME,
        version=VERSION,
        title="Flux Memory",
        get_tool_input_schema=_input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    server.middleware.append(instruct)
    return server


def run_tool(who: FindCaller, ctx: Context, name: str, given: dict[str, Any] | None) -> types.CallToolResult:
    """Run a tool. Errors are answers the model can read; only an unknown tool is an error of the protocol."""
    try:
        principal = who(ctx)
        tool = registry.find_for(principal, name)
        arguments, label = registry.check_arguments(tool, given)
        registry.demand_capabilities(principal, tool, arguments)
        answer = tool.run(principal.labelled(label or _client(ctx)), arguments)
    except registry.UnknownTool as error:
        raise MCPError(
            types.INVALID_PARAMS, errors.error_text(error), errors.error_meta(error)[errors.ERROR_META_KEY]
        ) from None
    except Exception as error:
        refusal = errors.as_flux_error(error)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=errors.error_text(refusal))],
            is_error=True,
            _meta=errors.error_meta(refusal),
        )
    text = types.TextContent(type="text", text=orjson.dumps(answer).decode())
    return types.CallToolResult(content=[text], structured_content=answer)


def _shown(who: FindCaller, ctx: Context) -> list[types.Tool]:
    try:
        tools = registry.visible_tools(who(ctx))
    except Exception as error:
        if errors.as_flux_error(error).status < 500:
            return []  # suspended or unknown: it may call no tool
        # The database is unavailable. Clients ask for the list once, so it is not empty; their calls report the error.
        tools = list(registry.load_group(registry.DEFAULT_GROUP).tools)
    return [_described(tool) for tool in tools]


@lru_cache(maxsize=256)
def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.says,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.repeats or tool.reads,
            open_world_hint=tool.world,
        ),
    )


def _input_schema(name: str) -> dict[str, Any] | None:
    tool = registry.find_tool(name)
    return tool.input_schema() if tool is not None else None


def _client(ctx: Context) -> str:
    """Name of the calling program, for the audit chain and the dashboard."""
    found = ctx.session.client_params
    name = found.client_info.name if found is not None and found.client_info is not None else ""
    return name[: registry.LABELS["client"]] if name.isprintable() else ""
