import asyncio
import sys


async def main():
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "print(input()[::-1])", stdin=-1, stdout=-1
    )
    print(await process.communicate(b"abc\n"), process.returncode)


asyncio.run(main())
