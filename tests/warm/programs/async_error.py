import asyncio


async def fail(n):
    await asyncio.sleep(0)
    raise LookupError(n)


async def main():
    results = await asyncio.gather(fail(1), fail(2), return_exceptions=True)
    print(results)
    await fail(3)


asyncio.run(main())
