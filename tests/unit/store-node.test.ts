/** The machine and the node as a store knows them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  bootId,
  machineId,
  machineName,
  openNode,
  readNode,
  renewNode,
} from "../../daemon/store/private-files.ts";
import { bindingOf } from "../../daemon/store/shared.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { plain } from "../../protocol/text.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const machine = "id 0123456789abcdef0123456789abcdef";

function homeAt(home: string) {
  mkdirSync(home, { recursive: true, mode: 0o700 });
  return kitePaths({ KITE_HOME: home });
}

/** The id of a home that has to have its own. */
function idOf(found: ReturnType<typeof readNode>): string {
  if ("ok" in found || found.is !== "own") throw new Error(JSON.stringify(found));
  return found.node;
}

describe("the id of a node", () => {
  test("is made once, at random, and stays", () => {
    const [one, two] = [homeAt(temporaryFolder()), homeAt(temporaryFolder())];
    expect(readNode(one, machine)).toEqual({ is: "absent" });
    expect(existsSync(one.storeNode)).toBe(false);
    const id = idOf(openNode(one, machine));
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(idOf(openNode(one, machine))).toBe(id);
    expect(idOf(readNode(one, machine))).toBe(id);
    expect(idOf(openNode(two, machine))).not.toBe(id);
  });

  test("is for this user alone, and its file shows nothing of the machine", () => {
    const paths = homeAt(temporaryFolder());
    openNode(paths, machine);
    expect(statSync(paths.storeNode).mode & 0o777).toBe(0o600);
    const text = readFileSync(paths.storeNode, "utf8");
    for (const known of [machine, machine.slice(3), paths.home, String(statSync(paths.home).ino)])
      expect(text).not.toContain(`"${known}`);
    expect(readdirSync(paths.home)).toEqual(["store-node.json"]);
  });

  test("is that of the machine that runs, where none is named", () => {
    const paths = homeAt(temporaryFolder());
    const id = idOf(openNode(paths));
    expect(idOf(readNode(paths))).toBe(id);
    expect(readNode(paths, machine)).toMatchObject({ is: "copied", differs: ["machine"] });
  });

  test("is found through another spelling of the home", () => {
    const top = temporaryFolder();
    const id = idOf(openNode(homeAt(join(top, "home")), machine));
    symlinkSync(join(top, "home"), join(top, "link"));
    expect(idOf(readNode(kitePaths({ KITE_HOME: join(top, "link") }), machine))).toBe(id);
    expect(idOf(readNode(kitePaths({ KITE_HOME: `${top}/./home/` }), machine))).toBe(id);
  });
});

describe("a copy", () => {
  test("of a home at another path is found out, and gets an id of its own", () => {
    const top = temporaryFolder();
    const home = homeAt(join(top, "home"));
    const id = idOf(openNode(home, machine));
    cpSync(home.home, join(top, "copy"), { recursive: true, preserveTimestamps: true });
    const copy = homeAt(join(top, "copy"));
    for (const look of [readNode, openNode])
      expect(look(copy, machine)).toEqual({
        is: "copied",
        node: id,
        differs: ["path", "inode"],
        error: expect.stringMatching(/\/copy is a copy: .*another path.*kite store rejoin$/),
      });
    // Nothing was written.
    expect(readFileSync(copy.storeNode, "utf8")).toBe(readFileSync(home.storeNode, "utf8"));
    const own = idOf(renewNode(copy, machine));
    expect(own).not.toBe(id);
    expect(idOf(readNode(copy, machine))).toBe(own);
    expect(idOf(readNode(home, machine))).toBe(id);
  });

  test("on another machine is found out", () => {
    const home = homeAt(temporaryFolder());
    const id = idOf(openNode(home, machine));
    expect(readNode(home, machine.replace("0", "1"))).toEqual({
      is: "copied",
      node: id,
      differs: ["machine"],
      error: expect.stringMatching(/another machine/),
    });
    // An id and a name never look alike.
    expect(readNode(home, machine.replace("id", "name"))).toMatchObject({ is: "copied" });
  });

  test("in the place of the home is found out, and so is a home that was moved", () => {
    const top = temporaryFolder();
    const home = homeAt(join(top, "home"));
    openNode(home, machine);
    renameSync(home.home, join(top, "moved"));
    expect(readNode(homeAt(join(top, "moved")), machine)).toMatchObject({ is: "copied", differs: ["path"] });
    cpSync(join(top, "moved"), home.home, { recursive: true });
    expect(readNode(home, machine)).toMatchObject({
      is: "copied",
      differs: ["inode"],
      error: expect.stringMatching(/another folder at this path/),
    });
    rmSync(home.home, { recursive: true });
    renameSync(join(top, "moved"), home.home);
    expect(readNode(home, machine)).toMatchObject({ is: "own" });
  });
});

describe("a file that is no node's", () => {
  const good = { version: 1, node: "a".repeat(32), ...{ machine: "0".repeat(64), path: "0".repeat(64) } };

  it.each([
    ["nothing", ""],
    ["no JSON", "{"],
    ["a part", '{"version":1,"node":"'],
    ["no object", "[]"],
    ["null", "null"],
    ["no inode", JSON.stringify(good)],
    ["a newer form", JSON.stringify({ ...good, version: 2, inode: "0".repeat(64) })],
    ["a field more", JSON.stringify({ ...good, inode: "0".repeat(64), more: 1 })],
    ["a short id", JSON.stringify({ ...good, node: "a", inode: "0".repeat(64) })],
    ["another id", JSON.stringify({ ...good, node: "local", inode: "0".repeat(64) })],
    ["no text", Buffer.from([0xff])],
    ["zeros, as a crash of the machine may leave", "\0".repeat(400)],
  ])("is refused with %s, left as it is, and replaced at a person's word", (_name, content) => {
    const paths = homeAt(temporaryFolder());
    writeFileSync(paths.storeNode, content, { mode: 0o600 });
    for (const look of [readNode, openNode])
      expect(look(paths, machine)).toEqual({
        ok: false,
        code: "store_node",
        error: expect.stringMatching(/store-node\.json (?:is damaged.*kite store rejoin|is no text)/),
      });
    expect(readFileSync(paths.storeNode)).toEqual(Buffer.from(content));
    const id = idOf(renewNode(paths, machine));
    expect(idOf(readNode(paths, machine))).toBe(id);
  });

  test("is refused if it is too long, open to others, a link or a folder", () => {
    const refusal = (make: (path: string) => void, error: RegExp) => {
      const paths = homeAt(temporaryFolder());
      make(paths.storeNode);
      expect(openNode(paths, machine)).toEqual({
        ok: false,
        code: "store_node",
        error: expect.stringMatching(error),
      });
    };
    const long = " ".repeat(limits.smallFileBytes + 1);
    refusal(path => writeFileSync(path, long, { mode: 0o600 }), /more than 65536 bytes/);
    const open = (path: string) => {
      writeFileSync(path, "{}");
      chmodSync(path, 0o644);
    };
    refusal(open, /open to other users \(mode 0644\); run: chmod 600/);
    refusal(path => symlinkSync("/dev/null", path), /is a link/);
    refusal(path => mkdirSync(path, { mode: 0o700 }), /is no file/);
  });
});

describe("a write", () => {
  test("goes over what a crash left of one before", () => {
    const paths = homeAt(temporaryFolder());
    writeFileSync(`${paths.storeNode}.new`, '{"version":1,"no');
    expect(readNode(paths, machine)).toEqual({ is: "absent" });
    const id = idOf(openNode(paths, machine));
    expect(idOf(readNode(paths, machine))).toBe(id);
    expect(readdirSync(paths.home)).toEqual(["store-node.json"]);
  });

  test("that fails is refused, and leaves the id before", () => {
    const paths = homeAt(temporaryFolder());
    const id = idOf(openNode(paths, machine));
    mkdirSync(`${paths.storeNode}.new`);
    expect(renewNode(paths, machine)).toMatchObject({
      code: "store_node",
      error: expect.stringMatching(/cannot be kept.*\.new/),
    });
    expect(idOf(readNode(paths, machine))).toBe(id);
    const gone = kitePaths({ KITE_HOME: join(paths.home, "gone") });
    expect(openNode(gone, machine)).toMatchObject({
      code: "store_node",
      error: expect.stringMatching(/gone/),
    });
  });

  test("that is killed in its midst leaves one whole id", async () => {
    const paths = homeAt(temporaryFolder());
    let before = idOf(openNode(paths, machine));
    const writer = join(temporaryFolder(), "writer.mjs");
    const files = fileURLToPath(new URL("../../daemon/store/private-files.ts", import.meta.url));
    buildSync({
      stdin: {
        contents: `import { renewNode } from ${JSON.stringify(files)};
          for (let n = 0; ; n += 1) {
            renewNode(JSON.parse(process.argv[2]), process.argv[3]);
            if (n === 2) process.stdout.write("writes");
          }`,
        resolveDir: "/",
      },
      outfile: writer,
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
    });
    for (let round = 0; round < 4; round += 1) {
      const child = spawn(process.execPath, [writer, JSON.stringify(paths), machine], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const ended = once(child, "close");
      child.stdout.once("data", () => child.kill("SIGKILL"));
      expect(await ended).toEqual([null, "SIGKILL"]);
      const now = idOf(readNode(paths, machine));
      expect(now).not.toBe(before);
      before = now;
    }
  });
});

describe("the machine", () => {
  describe("the name of a machine", () => {
    it.each([
      ["laptop", "laptop"],
      ["Laptop.local", "Laptop"],
      ["ip-10-0-0-5.eu-west-1.compute.internal", "ip-10-0-0-5"],
      ["10.0.0.5", "10.0.0.5"],
      ["::1", "::1"],
      [".laptop", "laptop"],
      ["ada's laptop", "ada's-laptop"],
      ["ada@laptop", "ada-laptop"],
      ["lap\u202etop\n", "laptop"],
      ["<b>", "‹b›"],
      ["", "machine"],
      ["...", "machine"],
      ["\u200b", "machine"],
      ["x".repeat(64), `${"x".repeat(31)}…`],
    ])("of %j is %j", (host, name) => {
      expect(machineName(host)).toBe(name);
    });

    it("is one clean word within its bound, whatever the host is called", () => {
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength: 100 }), points => {
          const host = String.fromCodePoint(...points);
          const name = machineName(host);
          expect(name).toBe(plain(name));
          expect(name).toMatch(/^[^\s@]+$/);
          expect(name.length).toBeLessThanOrEqual(limits.machineNameChars);
        }),
      );
    });

    it("is that of this machine", () => {
      expect(machineName()).toMatch(/^\S+$/);
    });
  });

  describe("the id of a machine", () => {
    const id = "0123456789abcdef0123456789abcdef";

    test("is that of the first file that has one, else the host's name", () => {
      const folder = temporaryFolder();
      const files = [join(folder, "machine-id"), join(folder, "dbus")];
      expect(machineId(files, "Laptop.local")).toBe("name laptop");
      writeFileSync(files[1] ?? "", `${id}\n`);
      expect(machineId(files, "laptop")).toBe(`id ${id}`);
      writeFileSync(files[0] ?? "", `${id.toUpperCase().replace("0", "F")}`);
      expect(machineId(files, "laptop")).toBe(`id ${id.replace("0", "f")}`);
    });

    test.each(["", "uninitialized\n", "0".repeat(32), `${id}0`, id.slice(1), id.repeat(100)])(
      "is not what a file has in its place: %#",
      text => {
        const file = join(temporaryFolder(), "machine-id");
        writeFileSync(file, text);
        expect(machineId([file], "laptop.example.com")).toBe("name laptop");
      },
    );

    test("is not a folder", () => {
      const file = join(temporaryFolder(), "machine-id");
      mkdirSync(file);
      expect(machineId([file], "laptop")).toBe("name laptop");
    });

    test("of this machine stays", () => {
      expect(machineId()).toMatch(/^(?:id [0-9a-f]{32}|name \S*)$/);
      expect(machineId()).toBe(machineId());
    });
  });

  it("tells a start of the machine from others where the system says which it is", () => {
    expect(bootId("/nowhere/boot_id")).toBe("");
    if (process.platform === "linux") expect(bootId()).toMatch(/^[0-9a-f-]{36}$/);
    expect(bootId()).toBe(bootId());
  });

  it("binds a home to its id and to the machine's start, of which the store hears only a hash", () => {
    const here = bindingOf("the file", "one boot");
    expect(bindingOf("the file", "one boot")).toBe(here);
    expect(bindingOf("the file", "the boot of a disk's copy")).not.toBe(here);
    expect(bindingOf("another file", "one boot")).not.toBe(here);
    expect(here).toMatch(/^[0-9a-f]{64}$/);
  });
});
