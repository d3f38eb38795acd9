# value: [0, 1, 4, 9]
import asyncio


async def square(n):
    await asyncio.sleep(0.01 * (3 - n))
    return n * n


async def main():
    task = asyncio.create_task(square(2), name="two")
    print(task.get_name(), await task)
    return await asyncio.gather(*(square(n) for n in range(4)))


asyncio.run(main())
