/** What agents of several machines declare: rows, overlaps and notices as each machine has them. */
import { expect, it } from "vitest";
import { rulesLevel } from "../../daemon/core/tables/base-state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { noteKey } from "../../daemon/core/tables/messages.ts";
import { noteIds } from "../../daemon/engine/log-view.ts";
import { Pending } from "../../daemon/hooks/notices.ts";
import { overlapsThere } from "../../daemon/sharing/elsewhere.ts";
import { declarationRows, endedDeclarationRows } from "../../daemon/views/work.ts";
import { actorOf, begin, type Machine, MemoryStoreOfAll, machine, settled, shared } from "./shared-world.ts";

function declare({ name, log }: Machine, session: string, path: string, parts: object = {}) {
  const key = `n:/${name}/${path}`;
  const files = [
    { ref: { file: path, lexical: `/${name}/${path}`, key, dir: false }, will: `${session} mends it` },
  ];
  const nothing = { ancestors: [], anew: false, uncertainties: [], wallMs: Date.now() };
  const command = { type: "declare", actor: actorOf(session), files, ...nothing, ...parts };
  return log.submitAndWait(command as Command);
}

/** Two machines whose agents alice and bob are known to both. */
async function two() {
  const all = new MemoryStoreOfAll();
  const [laptop, desk] = [await machine("laptop", all), await machine("desk", all)];
  for (const one of [laptop, desk]) expect(await one.store.open(10_000)).toBe(true);
  await begin(laptop, "alice");
  await begin(desk, "bob");
  await settled(laptop, desk);
  return { all, laptop, desk };
}

function rows({ log }: Machine, of: { readonly id?: string; readonly project?: string } = {}) {
  return [...declarationRows(log, of)].map(({ row }) => row());
}

/** The files that a session is to be told of, in the log that machines share. */
function told({ log }: Machine, session: string): readonly unknown[] {
  return [...noteIds(log, session)].slice(1).flatMap(([{ state }, id]) => {
    const pending = state.notes.pending.get(noteKey({ session: id, agent: null }));
    return (
      pending?.notes.map(({ note }) => (note.what === "overlap" ? [note.file, note.other] : note.what)) ?? []
    );
  });
}

it("are shown on each machine, those of others with their machine and where the file is here", async () => {
  const { laptop, desk } = await two();
  await declare(laptop, "alice", "app/a.ts", { task: "Page the list", role: "tester" });
  await declare(desk, "bob", "app/b.ts");
  await settled(laptop, desk);
  const brief = (machine: Machine, of = {}) =>
    rows(machine, of).map(({ id, name, machine, project, files }) => [
      ...[id.replace(/@.*/, "@"), name, machine, project, files.map(({ path }) => path)],
    ]);
  const [alice, bob] = [
    ["alice", "alice", undefined, "/laptop/app", ["/laptop/app/a.ts"]],
    ["bob@", "bob@desk", "desk", "/laptop/app", ["/laptop/app/b.ts"]],
  ];
  expect(brief(laptop)).toEqual([alice, bob]);
  expect(brief(laptop, { project: "/laptop/app" })).toEqual([alice, bob]);
  expect(brief(laptop, { project: "/elsewhere" })).toEqual([alice]);
  expect(brief(laptop, { id: "alice" })).toEqual([alice]);
  const [id] = rows(laptop).flatMap(({ id, machine }) => (machine === undefined ? [] : [id]));
  expect(brief(laptop, { id: id ?? "" })).toEqual([bob]);
  expect(rows(desk).map(({ name }) => name)).toEqual(["alice@laptop", "bob"]);
});

it("are in the history of each machine when they ended", async () => {
  const { laptop, desk } = await two();
  await declare(laptop, "alice", "app/a.ts", { task: "one" });
  // Of what changes before it was told, others hear the last alone.
  await settled(laptop, desk);
  await declare(laptop, "alice", "app/a.ts", { task: "two", anew: true });
  await declare(desk, "bob", "app/b.ts", { task: "three" });
  const over = { type: "session_end", session: "bob", incarnation: null, cause: "ended" } as const;
  await desk.log.submitAndWait(over);
  await settled(laptop, desk);
  const ended = (machine: Machine) =>
    [...endedDeclarationRows(machine.log)].map(({ row }) => [row().name, row().task]);
  expect(ended(laptop)).toEqual([
    ["alice", "one"],
    ["bob@desk", "three"],
  ]);
  expect(ended(desk)).toEqual([
    ["bob", "three"],
    ["alice@laptop", "one"],
  ]);
});

it("overlap between machines: the one who declares hears it at once, both are told once", async () => {
  const { laptop, desk } = await two();
  await declare(laptop, "alice", "app/a.ts");
  await settled(laptop, desk);
  await declare(desk, "bob", "app/a.ts");
  expect(overlapsThere(desk.log, actorOf("bob"))).toMatchObject([
    { path: "/desk/app/a.ts", with: { name: "alice@laptop", agent: null }, will: "alice mends it" },
  ]);
  await settled(laptop, desk);
  expect([told(laptop, "alice"), told(desk, "bob")]).toEqual([
    [["a.ts", "bob@desk"]],
    [["a.ts", "alice@laptop"]],
  ]);
  const pending = new Pending();
  expect([pending.has(laptop.log, actorOf("alice")), pending.has(desk.log, actorOf("bob"))]).toEqual([
    true,
    true,
  ]);
  const [, [log, id] = []] = [...noteIds(laptop.log, "alice")];
  const notes = log?.state.notes.pending.get(id ?? "")?.notes.map(({ n }) => n) ?? [];
  const read: Command = { type: "notes_told", session: id ?? "", agent: null, notes, risks: [] };
  expect(await laptop.log.submitAndWait(read)).toEqual({ ok: true });
  expect([told(laptop, "alice"), pending.has(laptop.log, actorOf("alice"))]).toEqual([[], false]);
  // What this machine's own log has goes on to be noted there.
  const own: Command = { type: "notes_told", session: "alice", agent: null, notes: [], risks: [] };
  const { seq } = laptop.own.state;
  await laptop.log.submitAndWait(own);
  expect(laptop.own.state.seq).toBe(seq + 1);
  await declare(laptop, "alice", "app/a.ts", { task: "more" });
  await settled(laptop, desk);
  expect(told(laptop, "alice")).toEqual([]);
});

it("are heard of by the others' watchers, and by one's own machine once", async () => {
  const { laptop, desk } = await two();
  await declare(laptop, "alice", "app/a.ts", { role: "alice@laptop" });
  await declare(desk, "bob", "app/a.ts");
  await settled(laptop, desk);
  const heard = ({ heard }: Machine) =>
    heard.flatMap(({ event }) =>
      event.event === "declared"
        ? [`${event.by.name} ${event.role}`]
        : event.event === "declarations_overlap"
          ? [event.sides.map(({ name }) => name).join(" ")]
          : [],
    );
  expect(heard(laptop)).toEqual(["bob@desk alice", "bob@desk "]);
  expect(heard(desk)).toEqual(["alice@laptop alice@laptop", "bob alice@laptop"]);
});

it("go out when the log takes them: a machine with a program of before may be there", async () => {
  const { laptop, desk } = await two();
  const projects = [["/laptop/app", shared]] as const;
  const { node } = laptop.store;
  await laptop.store.setSharing({ type: "sharing_set", node, projects, level: 2 });
  await declare(laptop, "alice", "app/a.ts");
  await settled(laptop, desk);
  expect(rows(desk)).toEqual([]);
  // As a start of the other machine does when all know the next level.
  await desk.store.engine?.submitAndWait({ type: "rules", level: rulesLevel });
  await expect.poll(() => rows(desk).map(({ name }) => name)).toEqual(["alice@laptop"]);
});

it("are as of the copy while the store is away, and go out when it is back", async () => {
  const { all, laptop, desk } = await two();
  await declare(desk, "bob", "app/b.ts", { task: "before" });
  await settled(laptop, desk);
  all.awaySinceMs = Date.now();
  await declare(laptop, "alice", "app/b.ts", { task: "meanwhile" });
  expect(rows(laptop).map(({ name, task }) => [name, task])).toEqual([
    ["bob@desk", "before"],
    ["alice", "meanwhile"],
  ]);
  expect(overlapsThere(laptop.log, actorOf("alice"))).toHaveLength(1);
  expect(rows(desk)).toHaveLength(1);
  all.awaySinceMs = null;
  await settled(laptop, desk);
  await expect.poll(() => rows(desk).map(({ name }) => name)).toEqual(["bob", "alice@laptop"]);
  expect(JSON.stringify(all.entries)).not.toMatch(/\/(laptop|desk)\/app/);
});
