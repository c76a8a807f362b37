import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type EventFilter, type Filtered, passes } from "../../daemon/server/event-ring.ts";
import { FilterIndex } from "../../daemon/server/events.ts";

const path = fc
  .array(fc.constantFrom("a", "b", "ab"), { maxLength: 3 })
  .chain(parts => fc.constantFrom(`/${parts.join("/")}`, parts.length > 0 ? `/${parts.join("/")}/` : "/"));
const word = fc.constantFrom("x", "y", "z");
const filter: fc.Arbitrary<EventFilter> = fc.record({
  names: fc.option(fc.array(word, { maxLength: 3 }).map(names => new Set(names))),
  project: fc.option(word),
  session: fc.option(word),
  path: fc.option(path),
});
const event: fc.Arbitrary<Filtered> = fc.record({
  name: word,
  project: word,
  about: fc.array(word, { maxLength: 3 }),
  paths: fc.array(path, { maxLength: 3 }),
  whole: fc.boolean(),
});

describe("the index of filters", () => {
  it("finds exactly the subscribers whose filters pass an event, each once", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(filter, fc.boolean()), { maxLength: 20 }),
        fc.array(event, { maxLength: 5 }),
        (filters, events) => {
          const index = new FilterIndex<{ readonly filter: EventFilter }>();
          const all = filters.map(([one, stays]) => ({ filter: one, stays }));
          for (const one of all) index.add(one);
          for (const one of all) if (!one.stays) index.remove(one);
          for (const one of events) {
            const wanted = all.filter(({ filter: of, stays }) => stays && passes(of, one));
            const found = [...index.matching(one)];
            expect(found).toHaveLength(wanted.length);
            expect(new Set(found)).toEqual(new Set(wanted));
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
