# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio, by every way of access."""

import asyncio
import time

import brig
import pytest
from conftest import DOORS, SERVED

COUNT = "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.05)\n"


def run(work):
    return asyncio.run(asyncio.wait_for(work, 60))


@pytest.mark.parametrize("door", DOORS)
def test_runs(services, door, tmp_path):
    (tmp_path / "x.sh").write_text("echo sh")

    async def work():
        async with brig.AsyncClient(**services.doors[door]) as client:
            results = await asyncio.gather(
                client.execute("print(input())", stdin="a", args=["x"], files={"f": b"\xff"}),
                client.execute_code("exit 3", "bash"),
                client.execute_file(tmp_path / "x.sh"))
            assert [(item.stdout, item.exit_code) for item in results] == [
                ("a\n", 0), ("", 3), ("sh\n", 0)]
            with pytest.raises(brig.Problem, match="unsupported_language"):
                await client.execute("x", "cobol")
            items = [item async for item in client.batch(
                [{"code": "print(int(input()) * 2)"}], [{"stdin": "3"}, {"stdin": "4"}])]
            assert {(item.input, item.result.stdout) for item in items} == {(0, "6\n"), (1, "8\n")}
            assert await client.health() == "ok"
            assert {"name": "python"}.items() <= [
                item for item in await client.runtimes() if item["name"] == "python"][0].items()
            assert any(item["name"] == "strict" for item in await client.policies())

    run(work())


@pytest.mark.parametrize("door", SERVED)
def test_service(services, door):
    async def work():
        client = brig.AsyncClient(**services.doors[door])
        data = b""
        async with await client.stream(COUNT) as stream:
            async for event in stream:
                data += event.data if isinstance(event, brig.Output) else b""
        assert data == b"0\n1\n2\n3\n4\n" and stream.result.ok
        assert (await (await client.events(stream.id, "2-0")).wait()).id == stream.id
        execution = await client.submit("print(1)")
        assert (await execution.wait(30)).stdout == "1\n"
        assert (await execution.poll()).status == "ok"
        assert (await (await execution.events()).wait()).ok
        assert (await client.executions(limit=1)).items
        running = await client.submit("while True: pass")
        assert (await running.cancel()).status == "cancelled"
        assert (await client.check("1"))["allowed"] and "brig_" in await client.metrics()

    run(work())


@pytest.mark.parametrize("door", SERVED)
def test_session(services, door):
    async def work():
        client = brig.AsyncClient(**services.doors[door])
        async with await client.session("python", timeout=20) as session:
            assert (await session.run("n = 1")).ok
            await session.put("a", "text")
            assert await session.get("a") == b"text"
            assert [item.path for item in await session.files()] == ["a"]
            await session.delete("a")
            fork = await session.fork()
            assert (await fork.run("n")).value == 1
            await fork.close()
            async with await session.stream("print('x', flush=True)\nwhile True: pass") as stream:
                async for event in stream:
                    if isinstance(event, brig.Output) and b"x" in event.data:
                        await session.interrupt()
            assert stream.result.status == "cancelled"
            assert (await session.state()).state == "idle"
            assert (await (await client.attach(session.id)).run("n")).value == 1
            assert session.id in {item.id for item in (await client.sessions()).items}
        assert session.id in {item.id for item in (await client.sessions(gone=True)).items}

    run(work())


def test_stream_is_resumed(cutter):
    proxy = cutter(330, 20)

    async def work():
        data = b""
        async for event in await brig.AsyncClient(proxy.url).stream(COUNT):
            data += event.data if isinstance(event, brig.Output) else b""
        assert data == b"0\n1\n2\n3\n4\n"

    run(work())
    assert proxy.count >= 3


@pytest.mark.parametrize("door", ["unix", "spawn"])
def test_cancelling_a_task_ends_the_run(services, door):
    async def work():
        client = brig.AsyncClient(**services.doors[door])
        start = time.monotonic()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.execute("import time; time.sleep(50)"), 1)
        assert time.monotonic() - start < 20
        if door == "unix":
            for _ in range(100):
                if (await client.executions(limit=1)).items[0].ended:
                    return
                await asyncio.sleep(0.1)
            raise AssertionError("it goes on")

    run(work())


def test_deadline_and_nobody(services, tmp_path):
    async def work():
        with pytest.raises(brig.DeadlineExceeded):
            await brig.AsyncClient(**services.doors["unix"], deadline=0.5).execute(
                "import time; time.sleep(20)")
        with pytest.raises(brig.CannotConnect):
            await brig.AsyncClient(f"unix:{tmp_path}/none").health()

    run(work())
