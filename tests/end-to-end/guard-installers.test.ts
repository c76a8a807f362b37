/** Installers: the manifest and the lock file that they change are held as an edit holds them. */
import { mkdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nameOfId } from "../session-name.ts";
import { LineWorld, read, type SceneKind } from "./guard-scene.ts";
import { firstCommit } from "./guard-world.ts";

const w = new LineWorld();
let uses = 0;

beforeAll(() => w.start());
afterAll(() => w.dispose());

/** A project with a workspace of packages, and two sessions with work elsewhere in it. */
const project: SceneKind = {
  committed: {
    "package.json": "{}\n",
    "package-lock.json": "{}\n",
    "web/package.json": "{}\n",
    "web/src/a.ts": "a\n",
    "core/Cargo.toml": "[package]\n",
    "core/src/lib.rs": "\n",
    "a.ts": "a\n",
    "b.ts": "b\n",
  },
  made: firstCommit,
  ann: { "a.ts": "ann's\n" },
  bob: { "b.ts": "bob's\n" },
};

async function begin(session: string, dir: string, command: string) {
  uses += 1;
  const call = { tool_name: "Bash", tool_input: { command }, tool_use_id: `i${uses}` };
  const said = w.event(session, dir, { hook_event_name: "PreToolUse", ...call });
  const ends = () =>
    w.event(session, dir, { hook_event_name: "PostToolUse", tool_response: {}, duration_ms: 5, ...call });
  return { said, ends };
}

function edit(file: string) {
  uses += 1;
  return { tool_name: "Edit", tool_input: { file_path: file }, tool_use_id: `e${uses}` };
}

interface LockRow {
  readonly path: string;
  readonly waiters: readonly unknown[];
}

async function locksIn(dir: string): Promise<readonly LockRow[]> {
  const client = await w.client();
  const { rows } = await client.ask({ type: "query", target: "locks" });
  return (rows as LockRow[]).filter(({ path }) => path.startsWith(`${dir}/`));
}

/** The files below `dir` that are held, by name. */
async function held(dir: string): Promise<readonly string[]> {
  return (await locksIn(dir)).map(({ path }) => path.slice(dir.length + 1)).sort();
}

async function waitsFor(path: string): Promise<void> {
  const folder = path.slice(0, path.lastIndexOf("/"));
  while (!(await locksIn(folder)).some(row => row.path === path && row.waiters.length === 1));
}

describe("an installer", () => {
  it.each([
    ["npm install left-pad", "", ["package-lock.json", "package.json"]],
    ["npm i", "web", ["package-lock.json", "web/package.json"]],
    ["npm uninstall x", "web/src", ["package-lock.json", "web/package.json"]],
    ["cd web && npm update", "", ["package-lock.json", "web/package.json"]],
    ["npm --prefix web install", "", ["package-lock.json", "web/package.json"]],
    ["cargo add serde", "core/src", ["core/Cargo.toml"]],
    ["npm ci", "", []],
    ["npm test", "", []],
    ["poetry add x", "", []],
  ])("%s in /%s holds what it changes until it ends", async (line, folder, files) => {
    const { dir, bob } = await w.scene(project);
    const ran = await begin(bob, folder === "" ? dir : `${dir}/${folder}`, line);
    expect(await ran.said).toBe("");
    expect(await held(dir)).toEqual(files);
    await ran.ends();
    expect(await held(dir)).toEqual([]);
  });

  it("waits for an edit, and an edit for it; what changed meanwhile is said", async () => {
    const { dir, ann, bob } = await w.scene(project);
    const ran = await begin(bob, dir, "npm install left-pad");
    expect(await ran.said).toBe("");
    const changes = edit(`${dir}/package.json`);
    const waits = w.event(ann, dir, { hook_event_name: "PreToolUse", ...changes });
    await waitsFor(`${dir}/package.json`);
    w.put(dir, "package.json", '{"dependencies": {}}\n');
    await ran.ends();
    expect(read(await waits)).toContain(`"${nameOfId(bob)}" changed "package.json"`);
    const next = await begin(bob, dir, "npm remove left-pad");
    await waitsFor(`${dir}/package.json`);
    w.put(dir, "package.json", '{"name": "ann"}\n');
    await w.event(ann, dir, { hook_event_name: "PostToolUse", tool_response: {}, ...changes });
    await w.event(ann, dir, { hook_event_name: "Stop" });
    const said = read(await next.said);
    expect(said).toContain(`"${nameOfId(ann)}" changed "package.json"`);
    expect(said).toContain("Your command line runs.");
    await next.ends();
  });

  it("is refused where an edit would be: another one keeps the lock file", async () => {
    const { dir, ann, bob } = await w.scene(project);
    const client = await w.client();
    const kept = { type: "file_lock", id: ann, file: `${dir}/package-lock.json` };
    expect(await client.ask(kept)).toMatchObject({ ok: true });
    const said = await w.asks(bob, dir, "npm install");
    expect(said).toContain("Kite: this command line did not run: another agent holds the file.");
    expect(said).toContain(`"package-lock.json" is held by "${nameOfId(ann)}"`);
    expect(await held(dir)).toEqual(["package-lock.json"]);
  });

  it("counts as the writer of what it changed", async () => {
    const { dir, ann, bob } = await w.scene(project);
    const ran = await begin(bob, dir, "npm install left-pad");
    expect(await ran.said).toBe("");
    w.put(dir, "package.json", '{"dependencies": {}}\n');
    await ran.ends();
    expect(await w.asks(ann, dir, "git checkout -- package.json")).toContain(nameOfId(bob));
    expect(await w.line(ann, dir, "git checkout -- package-lock.json")).toBe("");
  });

  it("behind kite lock takes the lock that its own line has already", async () => {
    const { dir, bob } = await w.scene(project);
    const ran = await begin(bob, dir, "kite lock package.json -- npm install");
    expect(await ran.said).toBe("");
    const client = await w.client();
    const asks = { type: "file_lock", id: bob, file: `${dir}/package.json`, bind: true, waitMs: 0 };
    expect(await client.ask(asks)).toMatchObject({ ok: true });
    client.destroy();
    await ran.ends();
    while ((await held(dir)).length > 0);
  });

  it("of an agent on its own is neither refused nor held by a gate", async () => {
    const dir = w.copy("alone-installs", project.committed, firstCommit);
    w.put(dir, ".kite/config.json", '{"gates": "strict"}');
    mkdirSync(`${dir}/node_modules`);
    expect(await w.asks("solo", dir, "npm install && npm ci && rm -rf node_modules")).toBe("");
  });
});
