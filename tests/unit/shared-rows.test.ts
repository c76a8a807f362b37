/** How rows of a shared project are stored, and what of a stored row a machine's copy takes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  idInCopy,
  inward,
  type Kind,
  kinds,
  type Names,
  nameInCopy,
  outward,
  ownIdOf,
} from "../../daemon/store/rows.ts";
import { personsNode } from "../../protocol/names.ts";
import { desk, laptop } from "./shared-copy-world.ts";

const awkward = fc.oneof(
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.string({
    unit: fc.constantFrom(
      "a",
      "@",
      "/",
      "\u0000",
      "\ud800",
      "\udc00",
      "'",
      "\\",
      '"',
      "n1",
      "laptop",
      "person",
    ),
    maxLength: 6,
  }),
);
const ownId = fc.oneof(awkward, fc.constant("person"));
const ownName = awkward;

/** The row of an agent of this machine as its copy has it, from its own id and names. */
const rowOf = (names: Names) =>
  fc.record({ id: ownId, name: ownName, agent: fc.option(awkward) }).map(({ id, name, agent }) => ({
    id: idInCopy(id, names),
    agent,
    name: nameInCopy(name, names) + (agent === null ? "" : `/${agent}`),
  }));
const ownRow = rowOf(laptop);
/** That of an agent of another machine. */
const otherRow = rowOf(desk).map(row => outward(row, desk) as typeof row);
const otherPerson = fc.constant({ id: "person@n2", agent: null, name: "a person at desk" });
const someone = fc.oneof(ownRow, otherRow);
const anyone = fc.oneof(someone, otherPerson, fc.constant(null));
const ownActor = fc.record({
  session: ownId.map(id => idInCopy(id, laptop)),
  agent: fc.option(awkward),
  incarnation: fc.nat(3),
});
const text = awkward;
const project = fc.constant(laptop.project);

const forms: Readonly<Record<string, fc.Arbitrary<object>>> = {
  sessions: fc
    .record({
      who: ownRow,
      begun: fc.nat(),
      agents: fc.array(fc.tuple(awkward, awkward), { maxLength: 2 }),
      branch: fc.option(text),
    })
    .map(({ who, begun, agents, branch }) => ({
      ...{
        id: who.id,
        node: "n1",
        begun,
        registeredAt: 7,
        project: laptop.project,
        worktree: "",
        branch,
        cwd: "",
      },
      ...{ name: who.name, namedBy: "client", lostAt: null, suspendedUntil: null },
      ...{ incarnations: [{ ordinal: 0, begun, anchor: null }], agents },
    })),
  tasks: fc.record({
    ...{ id: text, n: fc.nat(), project, createdAt: fc.nat(), createdBy: anyone, updatedAt: fc.nat() },
    ...{ description: text, priority: fc.constantFrom("high", "normal", "low"), labels: fc.array(text) },
    ...{ dependsOn: fc.array(text), attempts: fc.nat(3) },
    state: fc.oneof(
      fc.constant({ status: "pending" }),
      fc.record({ status: fc.constant("active"), claimer: fc.option(ownActor) }),
      fc.record({ status: fc.constant("done"), result: fc.option(text), by: anyone }),
      fc.record({ status: fc.constant("failed"), reason: fc.option(text), by: anyone }),
    ),
  }),
  messages: fc.record({
    ...{ id: text, order: fc.nat(), project, from: anyone, text, bytes: fc.nat(), replyTo: fc.option(text) },
    ...{ thread: text, at: fc.nat(), urgent: fc.boolean(), broadcast: fc.boolean() },
    letters: fc.array(
      fc.record({ to: someone, state: fc.constantFrom("unread", "read"), undelivered: fc.option(text) }),
      { minLength: 1, maxLength: 3 },
    ),
  }),
  context: fc.record({
    ...{ project, key: text, value: fc.jsonValue(), bytes: fc.nat(), from: anyone, node: fc.constant("n1") },
    ...{ at: fc.nat(), version: fc.nat(), durable: fc.boolean(), endsAt: fc.option(fc.nat()) },
  }),
  debates: fc.record({
    ...{ id: text, n: fc.nat(), project, question: text, openedBy: anyone, openedAt: fc.nat() },
    hypotheses: fc.array(fc.record({ name: text, claim: text })),
    participants: fc.array(fc.record({ row: someone, told: fc.option(text) })),
    entries: fc.array(fc.record({ kind: text, hypothesis: text, by: anyone, at: fc.nat(), text })),
    verdict: fc.option(fc.record({ name: text, because: text, by: anyone })),
  }),
  parts: fc.oneof(
    fc
      // An id has no line's end, as no id on the wire has.
      .record({
        who: someone.filter(({ id }) => !id.includes("\n")),
        part: fc.constantFrom("declaration", "role"),
        told: fc.record({ role: text }),
      })
      .map(({ who: { id, agent }, part, told }) => ({
        ...{
          project: laptop.project,
          node: id.endsWith("@n2") ? "n2" : "n1",
          session: id,
          agent,
          part,
          told,
        },
      })),
    fc.record({ author: fc.option(ownActor.map(({ session }) => ({ session }))), id: text }).map(merge => ({
      ...{ project: laptop.project, node: "n1", machine: "laptop", session: null, agent: null },
      ...{ part: "merges", told: [merge] },
    })),
  ),
};

const each: [string, Kind, fc.Arbitrary<object>][] = kinds.map(kind => {
  const form = forms[kind.name];
  if (form === undefined) throw new Error(`no forms of ${kind.name}`);
  return [kind.name, kind, form];
});

/** Fields that the program takes for granted nowhere, as a later one may leave them out. */
const loose: ReadonlySet<string> = new Set(["sessions namedBy", "parts machine"]);

const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
const keyOf = (kind: Kind, form: object) => {
  const key = kind.keyOf(form);
  if (key === undefined) throw new Error("a row of another kind");
  return key;
};
const stored = (kind: Kind, form: object, names: Names = laptop) =>
  [kind.keyThere(keyOf(kind, form), names), JSON.stringify(outward(form, names))] as const;

describe("a row of a shared project", () => {
  it.each(each)("of %s comes back as it left", (_name, kind, form) => {
    fc.assert(
      fc.property(form, one => {
        const [key, value] = stored(kind, one);
        expect(kind.read(key, value, laptop)).toEqual([keyOf(kind, one), plain(one)]);
      }),
    );
  });

  it.each(each)("of %s has neither this machine's project nor its person", (_name, _kind, form) => {
    fc.assert(
      fc.property(form, one => {
        const found = outward(one, laptop) as { readonly project: string };
        expect(found.project).toBe("team/shop");
        for (const field of ["createdBy", "openedBy", "from"]) expect(found).not.toHaveProperty(field, null);
      }),
    );
  });

  it.each(each)("of %s has its key without a character that PostgreSQL refuses", (_name, kind, form) => {
    fc.assert(
      fc.property(form, one => {
        const [key, value] = stored(kind, one);
        expect(key + value).toSatisfy(
          (all: string) => Buffer.from(all).toString() === all && !all.includes("\u0000"),
        );
      }),
    );
  });

  it.each(each)("of %s goes by the key under which it came", (_name, kind, form) => {
    fc.assert(
      fc.property(form, one => {
        const [key] = stored(kind, one);
        expect(kind.read(key, null, laptop)).toEqual([keyOf(kind, one), null]);
      }),
    );
  });

  it.each(each)("of %s has one key for all machines", (_name, kind, form) => {
    fc.assert(
      fc.property(form, one => {
        const [key, value] = stored(kind, one);
        const there = kind.read(key, value, desk);
        if (there?.[1] == null) throw new Error("it is left out there");
        expect(stored(kind, there[1], desk)).toEqual([key, value]);
      }),
    );
  });
});

describe("a person in a stored row", () => {
  const atLaptop = { id: "person@n1", agent: null, name: "a person at laptop" };
  const atDesk = { id: "person@n2", agent: null, name: "a person at desk" };

  it.each(["createdBy", "openedBy", "by", "from"])("of this machine is null in its copy: %s", field => {
    const here = { id: "t", [field]: null, nested: [{ [field]: null }] };
    const there = { id: "t", [field]: atLaptop, nested: [{ [field]: atLaptop }] };
    expect(outward(here, laptop)).toEqual(there);
    expect(inward(there, laptop)).toEqual(here);
  });

  it("of another machine stays what it is, both ways", () => {
    const row = { from: atDesk };
    expect(inward(row, laptop)).toEqual(row);
    expect(outward(row, laptop)).toEqual(row);
  });

  it("is nobody where no person asked for the step", () => {
    expect(outward({ event: "task_released", by: null }, laptop, false)).toEqual({
      event: "task_released",
      by: null,
    });
  });

  it("is not confused with a session whose id is person", () => {
    const by = { id: idInCopy("person", laptop), agent: null, name: "person" };
    const there = outward({ by }, laptop) as { readonly by: { readonly id: string; readonly name: string } };
    expect(there.by).toEqual({ id: "person@@n1", agent: null, name: "person@laptop" });
    expect(personsNode(there.by.id)).toBeNull();
    expect(inward(there, laptop)).toEqual({ by });
    expect(ownIdOf(by.id, laptop)).toBe("person");
  });
});

describe("an id of a session in a copy", () => {
  it("leads back to the machine's own id", () => {
    fc.assert(fc.property(ownId, id => ownIdOf(idInCopy(id, laptop), laptop) === id));
  });

  it("is another one for another id", () => {
    fc.assert(
      fc.property(ownId, ownId, (one, other) => {
        const stored = (id: string) =>
          (outward({ session: idInCopy(id, laptop) }, laptop) as { session: string }).session;
        expect(stored(one) === stored(other)).toBe(one === other);
      }),
    );
  });

  it("is none of this machine's if another machine has the session", () => {
    fc.assert(
      fc.property(ownId, id => {
        const there = outward({ session: idInCopy(id, desk) }, desk);
        const { session } = inward(there, laptop) as { readonly session: string };
        expect(ownIdOf(session, laptop)).toBeNull();
      }),
    );
  });

  it.each([
    ["ann", "ann@laptop"],
    ["ann@home", "ann@home@laptop"],
    ["feat/login", "feat@laptop/login"],
  ])("has a name that ends with its machine for others: %s", (name, there) => {
    const row = { id: "a@b", agent: null, name };
    const inCopy = { ...row, id: idInCopy(row.id, laptop), name: nameInCopy(name, laptop) };
    expect(outward(inCopy, laptop)).toMatchObject({ id: "a@b@@n1", name: there });
  });
});

describe("what agents wrote", () => {
  const texts = { id: "s", agent: null, name: "ann" };

  it("is not looked into", () => {
    const value = { project: laptop.project, session: "s", by: null, from: texts, about: ["s"], value: null };
    const written = {
      ...{ text: laptop.project, description: laptop.project, key: laptop.project },
      ...{ labels: [laptop.project, "s"], hypotheses: [{ name: "s", claim: laptop.project }], value },
    };
    expect(outward(written, laptop)).toEqual(written);
    expect(inward(written, laptop)).toEqual(written);
  });

  it("comes back as it left, whatever the value is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        expect(inward(outward({ value }, laptop), laptop)).toEqual({ value });
      }),
    );
  });
});

describe("an event of a step", () => {
  const event = fc.record({
    event: fc.oneof(
      fc.record({ event: fc.constant("task_claimed"), id: text, project, by: ownRow }),
      fc
        .record({ event: fc.constant("session_started"), id: ownId.map(id => idInCopy(id, laptop)), project })
        .chain(one => ownName.map(name => ({ ...one, name: nameInCopy(name, laptop) }))),
      fc.record({ event: fc.constant("message_sent"), project, from: anyone, to: fc.array(someone), text }),
    ),
    about: fc.array(ownId.map(id => idInCopy(id, laptop))),
    project,
  });

  it("comes back to its machine as it left", () => {
    fc.assert(
      fc.property(fc.array(event), events => {
        expect(inward(JSON.parse(JSON.stringify(outward(events, laptop))), laptop)).toEqual(plain(events));
      }),
    );
  });

  it("calls another machine's project as this one does, and its sessions as the rows do", () => {
    const there = outward(
      [
        {
          event: { event: "session_ended", id: "s", name: "ann", project: laptop.project },
          about: ["s"],
          project: laptop.project,
        },
      ],
      laptop,
    );
    expect(inward(there, desk)).toEqual([
      {
        event: { event: "session_ended", id: "s@n1", name: "ann@laptop", project: desk.project },
        ...{ about: ["s@n1"], project: desk.project },
      },
    ]);
  });
});

describe("a stored row that Kite did not write", () => {
  it.each(each)("of %s is left out without a field that all have", (_name, kind, form) => {
    fc.assert(
      fc.property(form, fc.nat(), (one, at) => {
        const fields = Object.keys(one).filter(field => !loose.has(`${kind.name} ${field}`));
        const field = fields[at % fields.length] ?? "";
        const { [field]: _gone, ...rest } = one as Record<string, unknown>;
        expect(kind.read(stored(kind, one)[0], JSON.stringify(outward(rest, laptop)), laptop)).toBeNull();
      }),
    );
  });

  it.each(each)("of %s is left out if it is another project's", (_name, kind, form) => {
    fc.assert(
      fc.property(form, one => {
        const value = JSON.stringify(outward({ ...one, project: "team/other" }, laptop));
        expect(kind.read(stored(kind, one)[0], value, laptop)).toBeNull();
      }),
    );
  });

  it.each(each)("of %s is left out under another row's key", (_name, kind, form) => {
    fc.assert(
      fc.property(form, one => {
        const [key, value] = stored(kind, one);
        expect(kind.read(`${key}x`, value, laptop)).toBeNull();
      }),
    );
  });

  it.each(each)("of %s is left out if it is no JSON, or another kind's", (_name, kind, form) => {
    for (const text of ["", "{", "null", "[]", "{}", "1", '"x"'])
      expect(kind.read("x", text, laptop)).toBeNull();
    const [one] = fc.sample(form, 1);
    if (one === undefined) throw new Error("no sample");
    for (const [, other] of each)
      if (other !== kind) expect(other.read(...stored(kind, one), laptop)).toBeNull();
  });
});
