"""The gateway over real servers: what they list and answer must come through, whoever asks and however.

Expected values are the servers' own answers, asked for without Toolcrib and without an SDK.
"""

import base64
import json
from datetime import UTC, datetime

import anyio
import pytest

pytestmark = pytest.mark.anyio

# A need in words, and the tool that meets it.
NEEDS = {
    "everything.get_sum": "add two numbers",
    "filesystem.read_text_file": "read a text file",
    "memory.create_entities": "create entities in the knowledge graph",
    "sequential_thinking.sequentialthinking": "think through a problem step by step",
    "kubernetes.pods_list": "list all pods in the cluster",
    "time_.convert_time": "convert a time between timezones",
    "fetch_.fetch": "fetch a web page by its URL",
    "motherduck.execute_query": "run a SQL query on the database",
    "excel.create_chart": "add a chart to a worksheet",
    "chroma.chroma_create_collection": "create a Chroma collection",
}
IDS = {
    "everything": "everything",
    "filesystem": "filesystem",
    "memory": "memory",
    "sequential-thinking": "sequential_thinking",
    "kubernetes": "kubernetes",
    "time": "time_",
    "fetch": "fetch_",
    "motherduck": "motherduck",
    "excel": "excel",
    "chroma": "chroma",
}
# One server over three transports; a second gateway over the same addresses would prove nothing new.
REFERENCES = ["everything", "everything_http", "everything_sse"]
# What the gateway itself may add to a result: the envelope of 2026-07-28, and notes in `_meta`.
ENVELOPE = {"resultType", "_meta"}


def bare(result):
    """A result without what the gateway may add to it."""
    return {name: value for name, value in result.items() if name not in ENVELOPE}


def values(document):
    """JSON values as text, in which 1, 1.0 and true differ; servers on the SDK order members by era."""
    return json.dumps(document, sort_keys=True)


async def test_a_client_sees_only_the_constant_tools(client):
    tools = (await client.client.list_tools()).tools
    assert {"search_tools", "get_tool_details", "call_tool"} <= {tool.name for tool in tools}
    assert len(tools) <= 5


@pytest.mark.parametrize("tool_id", NEEDS)
async def test_search_finds_the_tool_of_every_server(client, tool_id):
    found = await client.text("search_tools", {"query": NEEDS[tool_id], "detail": "name", "limit": 5})
    assert tool_id in found.split()


async def test_one_search_of_many_lines_finds_tools_of_many_servers(client):
    found = await client.text("search_tools", {"query": "\n".join(NEEDS.values()), "detail": "name", "limit": 50})
    assert set(NEEDS) <= set(found.split())


@pytest.mark.parametrize("server", [*IDS, "everything-http", "everything-sse"])
async def test_details_are_what_the_server_itself_lists(client, spoken, server):
    own = spoken.tools["everything" if server.startswith("everything") else server]
    server_id = server.replace("-", "_") if server not in IDS else IDS[server]
    ids = [f"{server_id}.{tool['name'].replace('-', '_')}" for tool in own]
    result = await client.meta("get_tool_details", {"name": ", ".join(ids)})
    details = [json.loads(block["text"]) for block in result["content"]]
    assert [each["id"] for each in details] == ids
    assert values([each["definition"] for each in details]) == values(own)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get-sum", {"a": 2, "b": 40}),
        ("echo", {"message": "Grüße 🜁"}),
        ("get-tiny-image", {}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 3}),
    ],
)
async def test_results_are_those_of_the_server_itself(client, spoken, tool, arguments):
    own = spoken.call("everything", tool, arguments)
    for server in REFERENCES if client.kind == "http" else REFERENCES[:1]:
        result = await client.call(f"{server}.{tool.replace('-', '_')}", arguments)
        assert values(bare(result)) == values(bare(own)), server


async def test_an_image_arrives_as_its_bytes(client):
    result = await client.call("everything.get_tiny_image")
    [image] = [block for block in result["content"] if block["type"] == "image"]
    assert image["mimeType"] == "image/png"
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG\r\n\x1a\n")


async def test_embedded_resources_arrive_as_text_and_as_bytes(client):
    for kind, member in (("Text", "text"), ("Blob", "blob")):
        arguments = {"resourceType": kind, "resourceId": 1}
        result = await client.call("everything.get_resource_reference", arguments)
        [block] = [block for block in result["content"] if block["type"] == "resource"]
        assert block["resource"][member]


async def test_structured_content_arrives_with_the_text_that_repeats_it(client):
    result = await client.call("everything.get_structured_content", {"location": "Chicago"})
    assert set(result["structuredContent"]) == {"temperature", "conditions", "humidity"}
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


async def test_wrong_arguments_are_answered_with_the_schema_and_never_sent(client, workplace):
    before = len(workplace.sent_to_everything)
    result = await client.call("everything.get_sum", {"a": "two", "b": 40})
    assert result["isError"] is True
    assert "everything.get_sum" in result["content"][0]["text"]
    assert "number" in result["content"][0]["text"]
    sent = workplace.sent_to_everything[before:]
    assert [each for each in sent if each.get("params", {}).get("name") == "get-sum"] == []


async def test_progress_is_reported_while_a_call_runs(client):
    seen = []

    async def report(progress, total, message):
        seen.append((progress, total))

    arguments = {"duration": 0.4, "steps": 4}
    result = await client.call("everything.trigger_long_running_operation", arguments, on_progress=report)
    assert "Long running operation completed" in result["content"][0]["text"]
    # What `everything` 2026.8.31 sends with `steps: 4`.
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


async def test_a_call_that_is_given_up_is_cancelled_at_the_server(client, workplace):
    before = len(workplace.sent_to_everything)
    name = "trigger-long-running-operation"
    arguments = {"duration": 50, "steps": 500}
    begun = anyio.Event()

    async def report(progress, total, message):
        begun.set()

    async with anyio.create_task_group() as calls:

        async def run():
            await client.call(f"everything.{name.replace('-', '_')}", arguments, on_progress=report)

        calls.start_soon(run)
        with anyio.fail_after(30):
            await begun.wait()
        calls.cancel_scope.cancel()
    with anyio.fail_after(30):
        while True:
            # Each answered call shows that the gateway goes on, and gives the cancellation time to arrive.
            await client.call("everything.echo", {"message": "still there?"})
            sent = workplace.sent_to_everything[before:]
            [asked] = [each["id"] for each in sent if each.get("params", {}).get("name") == name]
            cancelled = [each for each in sent if each.get("method") == "notifications/cancelled"]
            if [each["params"]["requestId"] for each in cancelled] == [asked]:
                break


async def test_a_server_that_fails_is_answered_with_its_reason_and_touches_no_other(client):
    answers = {}

    async def one(tool_id):
        answers[tool_id] = await client.call(tool_id, {"message": "well"})

    with anyio.fail_after(40):
        async with anyio.create_task_group() as calls:
            for tool_id in ("silent.any", "missing.any", "junk.echo", "everything.echo"):
                calls.start_soon(one, tool_id)
    texts = {tool_id: answer["content"][0]["text"] for tool_id, answer in answers.items()}
    assert "silent did not answer within 1 s of its start" in texts["silent.any"]
    assert "The command of missing was not found: no-such-command-anywhere" in texts["missing.any"]
    assert answers["silent.any"]["isError"] is answers["missing.any"]["isError"] is True
    assert json.loads(texts["junk.echo"]) == {"name": "echo", "arguments": {"message": "well"}}
    assert texts["everything.echo"] == "Echo: well"


async def test_a_tool_that_does_not_exist_is_an_error_with_near_ones(client):
    result = await client.call("everything.get_summ", {"a": 1, "b": 2})
    assert result["isError"] is True
    assert "everything.get_sum" in result["content"][0]["text"]


async def test_the_filesystem_reads_what_it_may_and_says_why_not(http_client, workplace):
    path = workplace.folder / "files" / "greeting.txt"
    result = await http_client.call("filesystem.read_text_file", {"path": str(path)})
    assert result["content"][0]["text"] == "Good morning.\n"
    refused = await http_client.call("filesystem.read_text_file", {"path": "/etc/hostname"})
    assert refused["isError"] is True
    assert "outside allowed directories" in refused["content"][0]["text"]


async def test_an_answer_of_megabytes_arrives_whole(http_client, workplace):
    path = workplace.folder / "files" / "large.txt"
    await anyio.Path(path).write_text("0123456789abcde\n" * 200_000)
    result = await http_client.call("filesystem.read_text_file", {"path": str(path)})
    assert result["content"][0]["text"] == "0123456789abcde\n" * 200_000


async def test_memory_keeps_what_it_was_told(http_client, request):
    name = f"Ada-{request.node.callspec.id}"
    entity = {"name": name, "entityType": "person", "observations": ["wrote the first program"]}
    created = await http_client.call("memory.create_entities", {"entities": [entity]})
    assert created["structuredContent"] == {"entities": [entity]}
    found = await http_client.call("memory.search_nodes", {"query": name})
    assert [each["name"] for each in found["structuredContent"]["entities"]] == [name]


async def test_time_is_converted(http_client):
    arguments = {"source_timezone": "Asia/Tokyo", "time": "12:00", "target_timezone": "UTC"}
    result = await http_client.call("time_.convert_time", arguments)
    answer = json.loads(result["content"][0]["text"])
    # Tokyo is nine hours ahead of UTC all the year round.
    assert datetime.fromisoformat(answer["target"]["datetime"]).astimezone(UTC).strftime("%H:%M") == "03:00"
    unknown = await http_client.call("time_.convert_time", {**arguments, "source_timezone": "Mars/Olympus"})
    assert unknown["isError"] is True


async def test_a_page_is_fetched(http_client, page):
    result = await http_client.call("fetch_.fetch", {"url": page})
    assert '{"title": "A page", "words": 3}' in result["content"][0]["text"]


async def test_a_query_is_run_and_its_error_is_an_error(http_client):
    result = await http_client.call("motherduck.execute_query", {"sql": "SELECT 6 * 7 AS answer"})
    assert "42" in result["content"][0]["text"]
    wrong = await http_client.call("motherduck.execute_query", {"sql": "SELEC"})
    assert "Parser Error" in wrong["content"][0]["text"]


async def test_a_thought_is_counted(http_client):
    arguments = {"thought": "So.", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}
    result = await http_client.call("sequential_thinking.sequentialthinking", arguments)
    assert json.loads(result["content"][0]["text"])["thoughtNumber"] == 1


async def test_a_cluster_configuration_is_shown(http_client):
    result = await http_client.call("kubernetes.configuration_view")
    assert "https://127.0.0.1:1" in result["content"][0]["text"]


async def test_a_workbook_is_made_and_read_back(http_client, workplace, request):
    path = workplace.folder / f"book-{request.node.callspec.id}.xlsx"
    made = await http_client.call("excel.create_workbook", {"path": str(path)})
    assert made.get("isError") is not True, made
    assert path.exists()


async def test_a_collection_is_made_and_counted(http_client, request):
    name = f"letters-{request.node.callspec.id}"
    made = await http_client.call("chroma.chroma_create_collection", {"collection_name": name})
    assert made.get("isError") is not True, made
    listed = await http_client.call("chroma.chroma_list_collections")
    assert name in [block["text"] for block in listed["content"]]
