import asyncio


async def square(number, queue):
    await asyncio.sleep(0.001 * (5 - number))
    await queue.put((number, number**2))
    return number


async def main():
    queue = asyncio.Queue()
    done = await asyncio.gather(*(square(n, queue) for n in range(5)))
    print(done, sorted([queue.get_nowait() for _ in range(queue.qsize())]))


asyncio.run(main())
