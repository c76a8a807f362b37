/** The way of a version back into its file: who may, what it asks as an edit does, and what is kept before. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RestoreBeginReply, VersionRow } from "../../protocol/schemas/rescue.ts";
import type { Client, Message } from "./daemon.ts";
import { RescueWorld } from "./rescue-world.ts";

const world = new RescueWorld();
beforeAll(() => world.start());
afterAll(() => world.dispose());

/** Restores a version as a command does, and writes the file. */
async function restore(
  client: Client,
  asked: Message,
  text: string,
): Promise<RestoreBeginReply & { readonly after: VersionRow | null }> {
  const begun = await client.ask({ type: "restore_begin", ...asked });
  if (begun["ok"] !== true) throw new Error(JSON.stringify(begun));
  const reply = begun as unknown as RestoreBeginReply;
  writeFileSync(reply.path, text);
  const { id } = asked;
  const ended = await client.ask({ type: "restore_end", id, restore: reply.restore, wrote: true });
  expect(ended).toMatchObject({ ok: true });
  return { ...reply, after: ended["version"] as VersionRow | null };
}

/** Two versions of a.ts by one agent; returns their names, the latest first. */
async function twoVersions(
  name: string,
  session: string,
): Promise<{ dir: string; versions: readonly string[] }> {
  const dir = world.repo(name);
  await world.write(session, dir, "a.ts", "one\n");
  await world.write(session, dir, "a.ts", "two\n");
  const versions = (await world.versions({ project: dir })).map(({ version }) => version);
  return { dir, versions };
}

describe("a restore", () => {
  test("is an edit of the agent: the file gets its writer, a lock and a version", async () => {
    const { dir, versions } = await twoVersions("back", "s-back");
    const [, first = ""] = versions;
    const client = await world.client();
    const done = await restore(client, { id: "s-back", version: first }, "one\n");
    expect(done).toMatchObject({ path: join(dir, "a.ts"), version: { version: first, added: 1, taken: 1 } });
    expect(done.before).toMatchObject({ version: versions[0], kind: "write" });
    expect(done.after).toMatchObject({ tool: "kite rescue restore", kind: "write", by: { id: "s-back" } });
    expect(await world.texts({ project: dir })).toEqual(["one\n", "two\n", "one\n"]);
    const locks = await client.ask({ type: "query", target: "locks", id: "s-back" });
    expect(locks["rows"]).toMatchObject([{ path: join(dir, "a.ts"), kind: "turn" }]);
    const writes = await client.ask({ type: "query", target: "writes", project: dir });
    expect(writes["rows"]).toMatchObject([{ file: "a.ts", writers: [{ id: "s-back" }] }]);
  });

  test("keeps what a person's editor left in the file", async () => {
    const { dir, versions } = await twoVersions("newer", "s-newer");
    world.put(dir, "a.ts", "by hand\n");
    const done = await restore(await world.client(), { id: "s-newer", version: versions[1] }, "one\n");
    expect(done.before).toMatchObject({ kind: "outside", by: null });
    expect(await world.texts({ project: dir })).toEqual(["one\n", "by hand\n", "two\n", "one\n"]);
  });

  test("waits for the lock of another agent, and is refused as an edit is", async () => {
    const { dir, versions } = await twoVersions("held", "s-holder");
    const call = world.call("Edit", { file_path: join(dir, "a.ts") });
    await world.event("s-other", dir, { hook_event_name: "SessionStart", source: "startup" });
    // The first agent holds the file for its turn, and writes it now.
    await world.event("s-holder", dir, { hook_event_name: "PreToolUse", ...call });
    const client = await world.client();
    const asked = { type: "restore_begin", id: "s-other", version: versions[1], waitMs: 0 };
    expect(await client.ask(asked)).toMatchObject({ ok: false, code: "lock_held" });
    await world.event("s-holder", dir, { hook_event_name: "PostToolUse", ...call });
    await world.event("s-holder", dir, { hook_event_name: "Stop" });
    expect(await client.ask(asked)).toMatchObject({ ok: true, path: join(dir, "a.ts") });
    // It ends with its connection.
    client.destroy();
    const again = await world.client();
    const session = { type: "query", target: "locks", id: "s-other" };
    expect((await again.ask(session))["rows"]).toHaveLength(1);
  });

  test("is held back by a freeze", async () => {
    const { dir, versions } = await twoVersions("frozen", "s-frozen");
    const person = await world.person();
    const file = join(dir, "a.ts");
    const hold = { files: [file], ttlMs: 60_000 };
    const froze = await person.ask({ type: "broadcast", project: dir, message: "wait", hold });
    expect(froze).toMatchObject({ ok: true });
    const asked = { type: "restore_begin", id: "s-frozen", version: versions[1], waitMs: 0 };
    expect(await person.ask(asked)).toMatchObject({ ok: false, code: "edits_held" });
  });

  test("is held back by a gate", async () => {
    const { dir, versions } = await twoVersions("gated", "s-gated");
    world.put(dir, ".kite/config.json", JSON.stringify({ gates: { identity: "enforce" } }));
    // Settings are read anew after a while.
    await world.stop();
    await world.start();
    await world.event("s-gated", dir, { hook_event_name: "SessionStart", source: "startup" });
    const client = await world.client();
    const asked = { type: "restore_begin", id: "s-gated", version: versions[1] };
    expect(await client.ask(asked)).toMatchObject({ ok: false, code: "gate_held" });
  });

  test("of an agent stays in its project, and reaches no file of Kite's own", async () => {
    const { dir, versions } = await twoVersions("inside", "s-inside");
    const other = await twoVersions("outside", "s-outside");
    const client = await world.client();
    const asked = { type: "restore_begin", id: "s-inside", version: versions[0] };
    const foreign = { ...asked, version: other.versions[0] };
    expect(await client.ask(foreign)).toMatchObject({ code: "person_only" });
    for (const into of [join(world.folder, "x.ts"), join(other.dir, "a.ts"), join(dir, ".git", "config")])
      expect(await client.ask({ ...asked, into }), into).toMatchObject({ code: "person_only" });
    expect(await client.ask({ ...asked, into: world.paths.config })).toMatchObject({ code: "person_only" });
    expect(await client.ask({ ...asked, into: dir })).toMatchObject({ code: "invalid_request" });
    expect(await client.ask({ ...asked, into: join(dir, "copy.ts") })).toMatchObject({ before: null });
    expect(await client.ask({ type: "restore_begin", version: versions[0] })).toMatchObject({
      code: "person_only",
    });
    expect(await client.ask({ ...asked, id: "nobody" })).toMatchObject({ code: "unknown_session" });
  });

  test("of a person goes anywhere, but not over what Kite cannot keep", async () => {
    const { dir, versions } = await twoVersions("person", "s-person");
    const person = await world.person();
    const into = join(world.folder, "out", "a.ts");
    mkdirSync(join(world.folder, "out"));
    const asked = { version: versions[1] };
    expect((await restore(person, { ...asked, into }, "one\n")).before).toBeNull();
    expect(readFileSync(into, "utf8")).toBe("one\n");
    const over = await person.ask({ type: "restore_begin", ...asked, into });
    expect(over).toMatchObject({ ok: false, code: "not_kept" });
    world.put(dir, "a.ts", `ghp_${"q9".repeat(18)}`);
    expect(await person.ask({ type: "restore_begin", ...asked })).toMatchObject({ code: "not_kept" });
    rmSync(join(dir, "a.ts"));
    expect(await restore(person, asked, "one\n")).toMatchObject({ before: null, after: { by: null } });
  });

  test("waits for a write that is under way, also if a person asks", async () => {
    const { dir, versions } = await twoVersions("under-way", "s-writes");
    const call = world.call("Edit", { file_path: join(dir, "a.ts") });
    await world.event("s-writes", dir, { hook_event_name: "PreToolUse", ...call });
    const person = await world.person();
    const asked = { type: "restore_begin", version: versions[1] };
    expect(await person.ask(asked)).toMatchObject({ ok: false, code: "lock_held" });
  });

  test("names what is not there", async () => {
    const { versions } = await twoVersions("missing", "s-missing");
    const person = await world.person();
    expect(await person.ask({ type: "restore_begin", version: "v-999999" })).toMatchObject({
      code: "unknown_version",
    });
    expect(await person.ask({ type: "restore_begin", version: "12" })).toMatchObject({
      code: "invalid_request",
    });
    const ended = { type: "restore_end", restore: "restore-1", wrote: true };
    expect(await person.ask(ended)).toMatchObject({ code: "unknown_restore" });
    const [latest] = await world.versions();
    rmSync(latest?.object ?? "");
    expect(await world.versions({ limit: 1 })).toMatchObject([{ version: latest?.version, object: null }]);
    expect(await person.ask({ type: "restore_begin", version: versions[0] })).toMatchObject({
      code: "version_gone",
    });
  });

  test("of one agent is not ended by another", async () => {
    const { versions } = await twoVersions("own-end", "s-begins");
    const client = await world.client();
    const begun = await client.ask({ type: "restore_begin", id: "s-begins", version: versions[1] });
    const { restore: name } = begun as { readonly restore?: string };
    const end = { type: "restore_end", restore: name, wrote: false };
    expect(await client.ask({ ...end, id: "s-back" })).toMatchObject({ code: "unknown_restore" });
    expect(await client.ask(end)).toMatchObject({ code: "unknown_restore" });
    expect(await client.ask({ ...end, id: "s-begins" })).toEqual({ ok: true, version: null });
    expect(await client.ask({ ...end, id: "s-begins" })).toMatchObject({ code: "unknown_restore" });
  });
});
