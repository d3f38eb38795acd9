def primes(limit):
    sieve = bytearray([1]) * (limit + 1)
    sieve[:2] = b"\0\0"
    for n in range(2, int(limit**0.5) + 1):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(sieve[n * n :: n]))
    return [n for n, is_prime in enumerate(sieve) if is_prime]


assert primes(30) == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
print(len(primes(200_000)), primes(200_000)[-1])
