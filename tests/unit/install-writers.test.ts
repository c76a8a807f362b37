/**
 * Others write the files that kite install and uninstall write, and ask for no lock: whatever they write between the
 * read and the rename is never lost. A writer stands at the sync of the new file, the last thing before it is put in
 * place.
 */
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { addTools, removeTools, userServers } from "../../hooks/claude-code/settings/files.ts";
import { install, uninstall } from "../../hooks/claude-code/settings/install.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

/** What happens once a file is written and synced, but not in its place yet. */
let atSync: () => void = () => {};

vi.mock("node:fs", async importOriginal => {
  const real = await importOriginal<typeof import("node:fs")>();
  return {
    ...real,
    fsyncSync: (fd: number) => {
      real.fsyncSync(fd);
      atSync();
    },
  };
});

const original = '{\n  "model": "opus"\n}\n';

let root: string;
let settings: string;
let paths: ReturnType<typeof kitePaths>;

beforeEach(() => {
  root = temporaryFolder("kite-writers-");
  settings = join(root, ".claude", "settings.json");
  mkdirSync(dirname(settings));
  for (const name of ["hook.cjs", "hook.pl"]) writeFileSync(join(root, name), "the client\n");
  paths = kitePaths({ KITE_HOME: join(root, "kite") });
});
afterEach(() => {
  atSync = () => {};
});

const put = () =>
  install({
    paths,
    settings,
    dist: root,
    node: process.execPath,
    env: { HOME: root },
    hookProgram: "node",
    home: null,
    everyEvent: false,
    allow: false,
    shared: false,
    statusLine: false,
  });
const place = () => userServers({ HOME: root });
const read = (file: string) => JSON.parse(readFileSync(file, "utf8"));
const beside = (file: string) => readdirSync(dirname(file)).sort();

/** Another program writes `file` each of the next times that its successor is about to be put in place. */
function writes(file: string, texts: string[]): { left: () => number } {
  atSync = () => {
    const about = readdirSync(dirname(file)).some(
      name => name.startsWith(`${file.split("/").at(-1)}.`) && name.endsWith(".new"),
    );
    const text = about ? texts.shift() : undefined;
    if (text !== undefined) writeFileSync(file, text);
  };
  return { left: () => texts.length };
}

describe("a writer between the read and the rename", () => {
  test("of kite install keeps what it wrote", async () => {
    writeFileSync(settings, original);
    const writer = writes(settings, ['{"model":"haiku"}', '{"model":"sonnet","env":{}}']);
    const { backup } = await put();
    expect(writer.left()).toBe(0);
    expect(read(settings)).toMatchObject({ model: "sonnet", env: {}, hooks: expect.any(Object) });
    // One copy, of what was there in the end.
    expect(backup).toBe(`${settings}.before-kite`);
    expect(read(backup ?? "")).toEqual({ model: "sonnet", env: {} });
    expect(beside(settings)).toEqual(["settings.json", "settings.json.before-kite"]);
    expect(await uninstall(paths, settings)).toMatchObject({ result: "restored" });
    expect(readFileSync(settings, "utf8")).toBe('{"model":"sonnet","env":{}}');
  });

  test("keeps a file that was not there before", async () => {
    writes(settings, ['{"model":"haiku"}']);
    await put();
    expect(read(settings)).toMatchObject({ model: "haiku", hooks: expect.any(Object) });
    await uninstall(paths, settings);
    expect(readFileSync(settings, "utf8")).toBe('{"model":"haiku"}');
  });

  test("of kite uninstall keeps what it wrote", async () => {
    writeFileSync(settings, original);
    await put();
    const text = readFileSync(settings, "utf8");
    writes(settings, [text.replace("opus", "haiku")]);
    expect(await uninstall(paths, settings)).toMatchObject({ result: "edited" });
    expect(read(settings)).toEqual({ model: "haiku" });
  });

  test("of the client's own file keeps what it wrote, both ways", async () => {
    const { file } = place();
    writeFileSync(file, '{"numStartups":1}');
    writes(file, ['{"numStartups":2}', '{"numStartups":3}']);
    expect(await addTools(paths, place())).toBe(true);
    expect(read(file)).toMatchObject({ numStartups: 3, mcpServers: { kite: expect.any(Object) } });
    writes(file, [readFileSync(file, "utf8").replace("3", "4")]);
    expect(await removeTools(paths, place())).toBe(true);
    expect(readFileSync(file, "utf8")).toBe('{"numStartups":4}');
    rmSync(file);
    writes(file, ['{"numStartups":5}']);
    expect(await addTools(paths, place())).toBe(true);
    expect(read(file)).toMatchObject({ numStartups: 5, mcpServers: { kite: expect.any(Object) } });
    await removeTools(paths, place());
    expect(readFileSync(file, "utf8")).toBe('{"numStartups":5}');
  });

  test("who never stops is named, and nothing of it is lost", async () => {
    writeFileSync(settings, original);
    let n = 0;
    atSync = () => {
      if (beside(settings).some(name => name.endsWith(".new"))) writeFileSync(settings, `{"n":${++n}}`);
    };
    await expect(put()).rejects.toThrow(`another program keeps changing ${settings}; try again in a moment`);
    expect(read(settings)).toEqual({ n });
    expect(beside(settings)).toEqual(["settings.json"]);
  });
});

describe("a file with several names", () => {
  const both = () => [readFileSync(settings, "utf8"), readFileSync(join(root, "other.json"), "utf8")];

  test("is refused by kite install, which says what to do, and changes nothing", async () => {
    writeFileSync(settings, original);
    linkSync(settings, join(root, "other.json"));
    await expect(put()).rejects.toThrow(/has 2 names \(hard links\).*mv/);
    expect(both()).toEqual([original, original]);
    expect(beside(settings)).toEqual(["settings.json"]);
    expect(readdirSync(root)).not.toContain("kite");
  });

  test("is refused by kite uninstall, and stays one", async () => {
    writeFileSync(settings, original);
    await put();
    linkSync(settings, join(root, "other.json"));
    const [text] = both();
    await expect(uninstall(paths, settings)).rejects.toThrow("has 2 names (hard links)");
    expect(both()).toEqual([text, text]);
    expect(statSync(settings).nlink).toBe(2);
    rmSync(join(root, "other.json"));
    expect(await uninstall(paths, settings)).toMatchObject({ result: "restored" });
    expect(readFileSync(settings, "utf8")).toBe(original);
  });

  test("is refused for the client's own file, both ways", async () => {
    const { file } = place();
    writeFileSync(file, "{}");
    linkSync(file, join(root, "other.json"));
    await expect(addTools(paths, place())).rejects.toThrow("has 2 names (hard links)");
    rmSync(join(root, "other.json"));
    await addTools(paths, place());
    linkSync(file, join(root, "other.json"));
    await expect(removeTools(paths, place())).rejects.toThrow("has 2 names (hard links)");
    expect(read(file)).toHaveProperty("mcpServers.kite");
  });

  test("is of no concern where nothing would be written", async () => {
    writeFileSync(settings, original);
    await put();
    linkSync(settings, join(root, "other.json"));
    expect((await put()).changed).toBe(false);
  });
});
