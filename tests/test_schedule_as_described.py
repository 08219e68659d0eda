"""docs/schedule.md followed to the letter, without a line of the program: it must lead to the same tables."""

import hashlib
import hmac
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import pytest

from tournament.rules import Rules
from tournament.schedule import Entry, schedule


class Described:
    """The page's method, in its order and with its names."""

    def __init__(self, owners: Sequence[int], secret: str) -> None:
        self.owners = owners
        self.n = len(owners)
        self.secret = secret
        self.twice: Counter[tuple[int, int]] = Counter()
        self.apart = [(a, b) for a, b in combinations(range(self.n), 2) if owners[a] != owners[b]]

    def below(self, k: int) -> int:
        block, place = divmod(self.drawn, 8)
        message = f"schedule/{self.round}/{block}".encode()
        digest = hmac.new(self.secret.encode(), message, hashlib.sha256).digest()
        self.drawn += 1
        return int.from_bytes(digest[4 * place : 4 * place + 4], "big") % k

    def tables(self, number: int) -> list[tuple[int, ...]]:
        self.round, self.drawn = number, 0
        kept, left = self.climb(self.step_one())
        if left:
            second, left_second = self.climb(self.step_one())
            if left_second < left:
                kept, left = second, left_second
        if left:
            kept = self.mend(kept, 2) or self.mend(kept, self.n) or []
        for pair, times in Counter(pair for table in kept for pair in combinations(table, 2)).items():
            self.twice[pair] += times > 1
        return sorted(kept)

    def step_one(self) -> set[tuple[int, int]]:
        order = list(range(self.n))
        for i in range(self.n - 1, 0, -1):
            j = self.below(i + 1)
            order[i], order[j] = order[j], order[i]
        opponents = [sum(a != b for b in self.owners) for a in self.owners]
        odd = sorted([a for a in order if opponents[a] % 2], key=lambda a: opponents[a])
        paths = []
        while odd:
            a = odd.pop(0)
            others = [b for b in odd if self.owners[b] != self.owners[a]]
            b = min(others, key=lambda b: self.twice[min(a, b), max(a, b)]) if others else odd[0]
            odd.remove(b)
            paths.append([1 if others else 2, a, b])
        m = len(self.apart) + sum(path[0] for path in paths)
        x = -m % 3
        if x and paths:
            paths[0][0] += x
        elif x:
            paths.append([3 + x, order[0], order[0]])
        marked: set[tuple[int, int]] = set()
        for length, start, end in sorted(paths, key=lambda path: path[0]):
            way = self.lay(start, end, length, order, [], marked)
            for a, b in zip([start, *(way or [])], way or [], strict=False):
                marked.add((min(a, b), max(a, b)))
        return marked

    def lay(
        self, start: int, end: int, length: int, order: list[int], passed: list[int], marked: set[tuple[int, int]]
    ) -> list[int] | None:
        def free(a: int, b: int) -> bool:
            return self.owners[a] != self.owners[b] and (min(a, b), max(a, b)) not in marked

        if length == 1:
            return [end] if free(start, end) else None
        for through in order:
            if through not in (start, end, *passed) and free(start, through):
                way = self.lay(through, end, length - 1, order, [*passed, start, through], marked)
                if way:
                    return [through, *way]
        return None

    def climb(self, marked: set[tuple[int, int]]) -> tuple[list[tuple[int, ...]], int]:  # noqa: C901  # as on the page
        missing: list[list[int]] = [[] for _ in range(self.n)]
        for a in range(self.n):
            for b in range(self.n):
                if self.owners[a] != self.owners[b]:
                    missing[a] += [b, b] if (min(a, b), max(a, b)) in marked else [b]
        live = [a for a in range(self.n) if missing[a]]
        tables: list[tuple[int, ...]] = []
        for _ in range(20 * sum(map(len, missing)) // 2):
            if not live:
                break
            a = live[self.below(len(live))]
            if len(missing[a]) == 1:
                continue
            p = self.below(len(missing[a]))
            q = self.below(len(missing[a]) - 1)
            q += q >= p
            b, c = sorted((missing[a][p], missing[a][q]))
            table = tuple(sorted((a, b, c)))
            if self.owners[b] == self.owners[c] or b == c or table in tables:
                continue
            if c not in missing[b]:
                both = [each for each in tables if b in each and c in each]
                given_up = both[self.below(len(both))]
                tables.remove(given_up)
                for pair in combinations(given_up, 2):
                    for one, other in (pair, pair[::-1]):
                        if not missing[one]:
                            live.append(one)
                        missing[one].append(other)
            tables.append(table)
            for pair in combinations(table, 2):
                for one, other in (pair, pair[::-1]):
                    missing[one].remove(other)
                    if not missing[one]:
                        live.remove(one)
        return tables, sum(map(len, missing)) // 2

    def mend(self, kept: list[tuple[int, ...]], most: int) -> list[tuple[int, ...]] | None:
        tables = list(kept)

        def of(a: int, b: int) -> list[tuple[int, ...]]:
            return [table for table in tables if a in table and b in table]

        unmet = [pair for pair in self.apart if not of(*pair)]
        for _ in range(5 * len(self.apart)):
            if not unmet:
                break
            a, b = unmet[self.below(len(unmet))]
            s = self.below(self.n)
            third = [
                c
                for c in ((s + step) % self.n for step in range(self.n))
                if self.owners[c] not in (self.owners[a], self.owners[b]) and tuple(sorted((a, b, c))) not in tables
            ]
            if not third:
                return None
            met = {c: (len(of(a, c)), len(of(b, c))) for c in third}
            c = min(third, key=lambda c: (sum(k >= most for k in met[c]), sum(k > 0 for k in met[c])))
            given_up = set()
            for other in (a, b):
                both = of(other, c)
                if len(both) >= most:
                    given_up.add(both[self.below(len(both))])
            tables = [table for table in tables if table not in given_up]
            tables.append(tuple(sorted((a, b, c))))
            lost = sorted({pair for table in given_up for pair in combinations(table, 2)})
            unmet = [pair for pair in unmet if not of(*pair)] + [pair for pair in lost if not of(*pair)]
        if unmet:
            return None
        for table in sorted(tables):
            if all(len(of(*pair)) > 1 for pair in combinations(table, 2)):
                tables.remove(table)
        return tables


@pytest.mark.parametrize(
    "owners",
    [
        range(13),
        range(14),
        range(17),
        range(18),
        range(22),
        [0, 0, *range(1, 13)],
        [place // 2 for place in range(16)],
        [0] * 5 + [1] * 4 + [2] * 3 + [3] * 2,
        [0] * 12 + [1, 2],
        [place % 3 for place in range(14)],
    ],
    ids=lambda owners: "-".join(map(str, owners)),
)
def test_the_page_leads_to_the_same_tables(owners: Sequence[int]) -> None:
    entries = [Entry(f"bot-{place:02}:1", owner) for place, owner in enumerate(owners)]
    described = Described(owners, "a secret")
    matches = list(schedule(Rules.make("cutthroat"), entries, 2, "a secret"))
    for number in (1, 2):
        assert described.tables(number) == [match.entrants for match in matches if match.round == number]
