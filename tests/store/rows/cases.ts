/** Cases that histories seldom or never come to; each holds of a small world, and fails with a planted bug that it is for. */
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { Machine } from "./machine.ts";
import { project, type SmallWorld, tasksIn, until } from "./small-world.ts";

/** A little less than a request of a machine waits for its step. */
const lookMs = 2_200;

/** A text of what a step asks for its lock with, and nothing else. */
const lockText = "FOR UPDATE OF p;";

const create = (text: string) => ({ what: "create", text, dependsOn: [] }) as const;

/** Waits until the machine has asked its store for something, and for something more. */
async function looked({ proxies }: Machine): Promise<void> {
  const passed = async () => proxies.reduce((sum, proxy) => sum + proxy.bytes, 0);
  for (let n = 0; n < 2; n += 1) {
    const before = await passed();
    await until(passed, now => now > before);
  }
}

/** A backup is put back piece by piece, and machines look meanwhile at tables without rows, and without indexes. */
export async function restoredInPieces(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash, elm] = await world.startAll("ash", "elm");
  await world.create(ash, "before 1", "before 2");
  const path = world.backup("pieces");
  await database.backUp(path);
  await world.create(elm, "after 1");
  expect(await world.settled(ash, elm)).toEqual([]);
  await database.drop();
  const tables = ["format", "nodes", "projects", "projects_id_seq", "rows", "steps"];
  const data = tables.map(table => ["-a", "-t", table]);
  for (const piece of [["--section=pre-data"], ...data, ["--section=post-data"]]) {
    await database.putBack(path, ...piece);
    await Promise.all([ash, elm].map(looked));
  }
  await Promise.all([ash, elm].map(machine => machine.reached()));
  expect(await world.settled(ash, elm)).toEqual([]);
  const dump = await elm.dump(project);
  expect(tasksIn(dump)).toEqual(["before 1", "before 2"]);
  expect(dump.wentBack).toBe(true);
}

/** A backup was put back, and others wrote `more` steps than it had lost before a machine looks again. */
async function restoredAndWritten(world: SmallWorld, more: number): Promise<void> {
  const { database } = world;
  const [ash, elm] = await world.startAll("ash", "elm");
  await world.create(ash, "before");
  expect(await world.settled(ash, elm)).toEqual([]);
  const path = world.backup("written");
  await database.backUp(path);
  const lost = ["lost 1", "lost 2", "lost 3", "lost 4"];
  await world.create(elm, ...lost);
  expect(await world.settled(ash, elm)).toEqual([]);
  const { version } = await ash.dump(project);
  ash.signal("SIGSTOP");
  await database.restore(path);
  elm.cut();
  await until(
    () => world.ask(elm, create("past 1")),
    ({ ok }) => ok,
  );
  const written = async () => (await database.contents(project)).version;
  for (let n = 2; (await written()) < version + more; n += 1) await world.create(elm, `past ${n}`);
  expect(await written()).toBe(version + more);
  ash.signal("SIGCONT");
  expect(await world.settled(ash, elm)).toEqual([]);
  const dump = await ash.dump(project);
  expect(tasksIn(dump).filter(text => text.startsWith("lost"))).toEqual([]);
  expect(dump.wentBack).toBe(true);
}

export async function writtenToTheSame(world: SmallWorld): Promise<void> {
  await restoredAndWritten(world, 0);
}

export async function writtenPast(world: SmallWorld): Promise<void> {
  await restoredAndWritten(world, 3);
}

/** A row that is gone is forgotten by the store before a machine that has it comes back. */
export async function purged(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash, elm] = await world.startAll("ash", "elm");
  await world.ask(elm, { what: "set", key: "passing", value: 1, ifVersion: null, ttlMs: 700 });
  expect(
    (
      await until(
        () => read(ash),
        seen => seen.version > 0,
      )
    ).value,
  ).toBe(1);
  ash.signal("SIGSTOP");
  await until(
    () => database.sql("SELECT FROM kite.rows WHERE kind = 'context' AND value IS NULL"),
    rows => rows.length === 1,
  );
  await world.create(elm, "later");
  const { version } = await elm.dump(project);
  await world.create(elm, "latest");
  await database.sql(`UPDATE kite.steps SET at = at - interval '2 hours' WHERE version <= ${version}`);
  await until(
    () => database.sql("SELECT FROM kite.rows WHERE value IS NULL"),
    rows => rows.length === 0,
  );
  ash.signal("SIGCONT");
  await until(
    () => ash.dump(project),
    dump => tasksIn(dump).includes("later"),
  );
  expect(await read(ash)).toMatchObject({ version: 0 });
  expect(await ash.dump(project)).toMatchObject({ reloads: 1, wentBack: false });
}

/** Nothing happened for longer than steps are kept: whoever knows the last one goes on from it. */
export async function quietForLong(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash, elm] = await world.startAll("ash", "elm");
  await world.create(ash, "before 1", "before 2");
  expect(await world.settled(ash, elm)).toEqual([]);
  await database.sql("UPDATE kite.steps SET at = at - interval '2 hours'");
  await until(
    () => database.sql("SELECT FROM kite.steps"),
    // A step that came meanwhile keeps the one before it.
    rows => rows.length <= 2,
  );
  await world.create(elm, "after");
  await until(
    () => ash.dump(project),
    dump => tasksIn(dump).includes("after"),
  );
  expect(await ash.dump(project)).toMatchObject({ reloads: 0, gaps: 0, wentBack: false });
}

async function read(machine: Machine): Promise<{ readonly version: number; readonly value: unknown }> {
  return (await machine.ask({ ask: "read", project, key: "passing" })) ?? { version: 0, value: null };
}

/** Tables are gone for a while: whoever has the project can read it, and sees what others do once they are back. */
export async function goneForAWhile(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash, elm] = await world.startAll("ash", "elm");
  await world.create(ash, "kept");
  expect(await world.settled(ash, elm)).toEqual([]);
  await database.sql("ALTER SCHEMA kite RENAME TO elsewhere");
  // Nobody asks this one for anything: it looks by itself.
  await looked(elm);
  expect(await world.ask(ash, create("lost"))).toMatchObject({
    ok: false,
    code: expect.stringMatching(/^(?:store_away|outcome_unknown)$/),
  });
  // What it has can be read meanwhile, and its process goes on.
  await until(
    () => ash.dump(project),
    dump => tasksIn(dump).join() === "kept",
  );
  await database.sql("DROP SCHEMA IF EXISTS kite CASCADE");
  await database.sql("ALTER SCHEMA elsewhere RENAME TO kite");
  await until(
    () => world.ask(ash, create("later")),
    ({ ok }) => ok,
  );
  expect(await world.settled(ash, elm)).toEqual([]);
  const dump = await elm.dump(project);
  expect(tasksIn(dump)).toEqual(["kept", "later"]);
  expect(dump.wentBack).toBe(false);
  expect(ash.ends).toEqual([]);
}

/** A machine has the lock and hears nothing more: the others go on before its connection is given up. */
export async function silentWithTheLock(world: SmallWorld): Promise<void> {
  const [ash, elm] = await world.startAll("ash", "elm");
  const [task = ""] = await world.create(elm, "one");
  expect(await world.settled(ash, elm)).toEqual([]);
  // A refusal is of the present: the step has the lock, and never hears so.
  const isHeld = ash.holdAnswersTo(lockText, 5_000);
  const held = world.ask(ash, { what: "release", task });
  expect(await isHeld).toBe(true);
  await until(
    () => world.database.sql("SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction'"),
    rows => rows.length > 0,
  );
  expect(await world.ask(elm, create("meanwhile"))).toMatchObject({ ok: true });
  ash.release();
  expect((await held).ok).toBe(false);
  await ash.reached();
  expect(await world.settled(ash, elm)).toEqual([]);
}

/** A request was answered as not done while its step waited for the lock: it is not done after that. */
export async function answeredBeforeTheLock(world: SmallWorld): Promise<void> {
  const [ash, elm] = await world.startAll("ash", "elm");
  await world.create(ash, "one");
  expect(await world.settled(ash, elm)).toEqual([]);
  expect(await ash.holdAnswersTo("READ ONLY", 5_000)).toBe(true);
  // Behind the look the step is a guess that misses: then it takes the lock.
  await world.create(elm, "two");
  const late = world.ask(ash, create("late"));
  // The look takes most of the time that a request waits.
  await delay(lookMs);
  ash.release();
  expect(await ash.holdAnswersTo(lockText, 5_000)).toBe(true);
  expect(await late).toMatchObject({ ok: false, code: "store_away" });
  ash.release();
  await ash.reached();
  await world.create(ash, "three");
  expect(await world.settled(ash, elm)).toEqual([]);
  expect(tasksIn(await ash.dump(project))).toEqual(["one", "three", "two"]);
}

/** A step is done, and its answer is lost with the network: nobody says that it was not done, and it is done once. */
export async function answerLost(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash] = await world.startAll("ash");
  expect(await world.settled(ash)).toEqual([]);
  const operation = { ...create("lost"), session: "s1" };
  const submit = () => ash.ask({ ask: "submit", project, id: "same", operation });
  const isHeld = ash.holdAnswersTo('"kite".step(', 5_000);
  const first = submit();
  expect(await isHeld).toBe(true);
  await until(
    () => database.sql("SELECT FROM kite.tasks"),
    rows => rows.length === 1,
  );
  ash.isCutOff = true;
  ash.hold({ requests: false, answers: false });
  expect(await first).toMatchObject({ reply: { ok: false, code: "outcome_unknown" } });
  ash.isCutOff = false;
  await ash.reached();
  expect(await submit()).toMatchObject({ reply: { ok: true } });
  expect(await world.settled(ash)).toEqual([]);
  expect(tasksIn(await ash.dump(project))).toEqual(["lost"]);
}

/** A process that is killed answers a repeated request as it did before. */
export async function repeatedAtANewStart(world: SmallWorld): Promise<void> {
  const [ash] = await world.startAll("ash");
  const again = () =>
    ash.ask({ ask: "submit", project, id: "same", operation: { ...create("once"), session: "s1" } });
  const first = await again();
  expect(first).toMatchObject({ reply: { ok: true } });
  await ash.stop();
  ash.up();
  await ash.reached();
  expect(await again()).toMatchObject({ reply: first?.reply, version: first?.version });
  expect(tasksIn(await ash.dump(project))).toEqual(["once"]);
}

/** A letter that is on its way to its reader is not given out again, unless its client did not get it. */
export async function givenOutOnce(world: SmallWorld): Promise<void> {
  const [ash, elm] = await world.startAll("ash", "elm");
  expect(await world.ask(ash, { what: "send", to: "s1@elm", text: "letter" })).toMatchObject({ ok: true });
  const take = () => world.ask(elm, { what: "take" });
  const letters = (reply: object) =>
    (reply as { readonly messages?: readonly { readonly id: string }[] }).messages ?? [];
  const first = await until(take, reply => letters(reply).length === 1);
  expect(letters(await take())).toEqual([]);
  await world.create(elm, "a step besides");
  expect(letters(await take())).toEqual([]);
  const [id = ""] = letters(first).map(letter => letter.id);
  expect(await world.ask(elm, { what: "told", messages: [id], heard: false })).toMatchObject({ ok: true });
  expect(letters(await take())).toMatchObject([{ id }]);
  expect(await world.settled(ash, elm)).toEqual([]);
}

/** A machine that is dead has ended although nobody asks for anything. */
export async function goneUnasked(world: SmallWorld): Promise<void> {
  const [ash, elm] = await world.startAll("ash", "elm");
  const [task = ""] = await world.create(ash, "one");
  expect(await world.ask(ash, { what: "claim", task })).toMatchObject({ ok: true });
  await ash.kill();
  await until(
    () => world.database.contents(project),
    ({ rows }) => !rows.has("sessions s1@ash"),
  );
  const status = (await world.database.sql("SELECT status FROM kite.tasks"))[0]?.[0];
  expect(status).toBe("pending");
  expect(await world.settled(elm)).toEqual([]);
}

/** A machine stood still for so long that the others ended it, and nobody asks it for anything then. */
export async function backUnasked(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash, elm] = await world.startAll("ash", "elm");
  expect(await world.settled(ash, elm)).toEqual([]);
  const isThere = async () => (await database.contents(project)).rows.has("sessions s1@ash");
  ash.signal("SIGSTOP");
  await until(isThere, is => !is);
  ash.signal("SIGCONT");
  await until(isThere, is => is);
  expect(await world.settled(ash, elm)).toEqual([]);
}

/** Sessions come to a machine while nobody else writes, and while the step that says so is lost on its way. */
export async function cameAlone(world: SmallWorld): Promise<void> {
  const [ash] = await world.startAll("ash");
  expect(await world.settled(ash)).toEqual([]);
  const [first] = ash.sessionsOf(project);
  const come = (...ids: readonly string[]) =>
    ash.present(
      project,
      ids.flatMap(id => (first === undefined ? [] : [{ ...first, id }])),
    );
  await come("s1", "s2");
  expect(await world.settled(ash)).toEqual([]);
  ash.hold({ requests: true, answers: false });
  await come("s1", "s2", "s3");
  ash.drop();
  await ash.reached();
  expect(await world.settled(ash)).toEqual([]);
}

/** A machine that shares the project no more has no sessions in it. */
export async function ended(world: SmallWorld): Promise<void> {
  const [ash, elm] = await world.startAll("ash", "elm");
  expect(await world.settled(ash, elm)).toEqual([]);
  await ash.ask({ ask: "end", project });
  await until(
    () => world.database.contents(project),
    ({ rows }) => !rows.has("sessions s1@ash") && rows.has("sessions s1@elm"),
  );
}

/** The store itself refuses a step from another version, of another stamp, or by a program of another format. */
export async function guarded(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash] = await world.startAll("ash");
  await world.create(ash, "one");
  expect(await world.settled(ash)).toEqual([]);
  await ash.stop();
  const step = (version: string, stamp: string) =>
    `SELECT kite.step(id, ${version}, ${stamp}, 'hand', 'next', head, ARRAY['tasks'], ARRAY['t-x'], ARRAY['{}'], '[]', '[]') FROM kite.projects`;
  const before = await database.contents(project);
  for (const [version, stamp] of [
    ["version - 1", "stamp"],
    ["version + 1", "stamp"],
    ["version", "'another'"],
  ] as const)
    expect([version, stamp, await outcome(world, step(version, stamp))]).toEqual([version, stamp, false]);
  await database.sql("UPDATE kite.format SET number = number + 1");
  expect(["a later format", await outcome(world, step("version", "stamp"))]).toEqual([
    "a later format",
    false,
  ]);
  await database.sql("UPDATE kite.format SET number = number - 1");
  expect((await database.contents(project)).rows).toEqual(before.rows);
  expect(await outcome(world, step("version", "stamp"))).toBe(true);
}

async function outcome({ database }: SmallWorld, text: string): Promise<unknown> {
  const rows = await database.sql(text).catch((error: unknown) => [[String(error)]]);
  return rows[0]?.[0];
}

/** Rows that somebody wrote by hand and that break the rules are left out, and neither the rest nor the process ends. */
export async function writtenByHand(world: SmallWorld): Promise<void> {
  const { database } = world;
  const [ash, elm] = await world.startAll("ash", "elm");
  const [task = ""] = await world.create(ash, "fine", "damaged");
  expect(await world.settled(ash, elm)).toEqual([]);
  const rows = await database.contents(project);
  const fine = JSON.parse(rows.rows.get(`tasks ${task}`) ?? "") as object;
  const orphan = JSON.stringify({
    ...fine,
    id: "t-o-8",
    n: 8,
    number: 8,
    description: "orphan",
    dependsOn: ["t-no-9"],
  });
  const message = {
    id: "m-8",
    order: 8,
    project,
    from: null,
    text: "to nobody",
    bytes: 9,
    replyTo: null,
    thread: "m-8",
  };
  const to = { id: "ghost@elm", agent: null, name: "ghost@elm" };
  const letters = [{ to, state: "unread", undelivered: null }];
  const lost = JSON.stringify({ ...message, at: 1, urgent: false, broadcast: false, letters });
  const damaged = [...rows.rows].find(([, value]) => value.includes('"damaged"'))?.[0].split(" ")[1] ?? "";
  const odd = JSON.stringify({ ...fine, id: damaged, description: 7 });
  const values = [orphan, lost, odd].map(value => `'${value}'`).join();
  await database.sql(
    `SELECT kite.step(id, version, stamp, 'hand', 'by hand', head, ARRAY['tasks', 'messages', 'tasks'],
       ARRAY['t-o-8', 'm-8', '${damaged}'], ARRAY[${values}], '[]', '[]') FROM kite.projects`,
  );
  for (const machine of [ash, elm]) {
    const dump = await until(
      () => machine.dump(project),
      ({ unfit }) => unfit.length === 3,
    );
    expect(tasksIn(dump).filter(text => text === "orphan")).toEqual([]);
    expect(Object.keys(dump.rows).filter(key => key.startsWith("messages "))).toEqual([]);
    expect(dump.broken).toEqual([]);
    expect(await world.ask(machine, create(`of ${machine.node}`))).toMatchObject({ ok: true });
    expect(machine.ends).toEqual([]);
  }
}

/** Counters that nobody can read make one project unreadable, and no other one. */
export async function headDamaged(world: SmallWorld): Promise<void> {
  const { database } = world;
  const ash = await world.start("ash", { more: ["team/site"] });
  const elm = await world.start("elm");
  await Promise.all([ash, elm].map(machine => machine.reached()));
  expect(await world.settled(ash, elm)).toEqual([]);
  const damage = `UPDATE kite.projects SET head = 'damaged', version = version + 1, stamp = 'by hand' WHERE name = 'team/site'`;
  const step = `INSERT INTO kite.steps (project, version, stamp, node, events, replies)
    SELECT id, version, stamp, 'hand', '[]', '[]' FROM kite.projects WHERE name = 'team/site'`;
  await database.sql(`${damage}; ${step}`);
  await looked(ash);
  // A step of the damaged one fails, too.
  const operation = { ...create("lost"), session: "s1" };
  expect(await ash.ask({ ask: "submit", project: "team/site", id: "lost", operation })).toMatchObject({
    reply: { ok: false },
  });
  await world.create(ash, "of ash");
  await world.create(elm, "of elm");
  ash.cut();
  await until(
    () => world.ask(ash, create("later")),
    ({ ok }) => ok,
  );
  expect(await world.settled(ash, elm)).toEqual([]);
  expect(ash.ends).toEqual([]);
}
