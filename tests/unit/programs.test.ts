/** Which programs the daemon runs, and which it passes over. */
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { findProgram, isOf, type Search } from "../../daemon/facts/programs.ts";
import { searchPath } from "../../protocol/paths.ts";
import { temporaryFolder } from "../temporary-folder.ts";

let root: string;
beforeEach(() => {
  root = temporaryFolder("kite-programs-");
});

/** No system has a program of this name. */
const name = "kite-test-program";

/** Puts a program into a new directory below the root; returns its path. */
function put(...directory: readonly string[]): string {
  const dir = join(root, ...directory);
  mkdirSync(dir, { recursive: true });
  const path = join(dir, name);
  writeFileSync(path, "#!/bin/sh\n");
  chmodSync(path, 0o755);
  return path;
}

function found(path: string, search: Partial<Search> = {}): string | null {
  return findProgram(name, { env: { PATH: path }, ...search })?.real ?? null;
}

describe("PATH", () => {
  it.each([
    ["/usr/bin:/bin", "/usr/bin:/bin"],
    [".:/usr/bin", "/usr/bin"],
    ["./node_modules/.bin:/usr/bin:bin", "/usr/bin"],
    [":/usr/bin::", "/usr/bin"],
    ["/home/ana/shop/node_modules/.bin:/usr/bin", "/usr/bin"],
    ["/home/ana/node_modules_of_mine/bin", "/home/ana/node_modules_of_mine/bin"],
    ["~/bin:/bin", "/bin"],
    ["/a/../b/./bin:/bin", "/b/bin:/bin"],
    ["", ""],
    [undefined, ""],
  ])("%j is searched in %j", (path, searched) => {
    expect(searchPath(path)).toBe(searched);
  });
});

describe("a program is found", () => {
  it("in the first directory that has it", () => {
    const [one, two] = [put("one"), put("two")];
    expect(found(`${join(root, "none")}:${join(root, "one")}:${join(root, "two")}`)).toBe(one);
    expect(found(`${join(root, "two")}:${join(root, "one")}`)).toBe(two);
  });

  it("in no relative entry, whatever the working directory is", () => {
    put("bin");
    const before = process.cwd();
    process.chdir(root);
    try {
      expect(found("bin:./bin:.")).toBeNull();
      expect(found(join(root, "bin"))).not.toBeNull();
    } finally {
      process.chdir(before);
    }
  });

  it("behind links, by its real path", () => {
    const path = put("store", "1.0");
    mkdirSync(join(root, "bin"));
    symlinkSync(path, join(root, "bin", name));
    const program = findProgram(name, { env: { PATH: join(root, "bin") } });
    expect(program).toEqual({ path: join(root, "bin", name), real: path });
  });

  it("in the system's directories without any PATH, and first there where it is asked for so", () => {
    expect(findProgram("sh", { env: {} })?.path).toMatch(/^\/(?:usr\/)?bin\/sh$/);
    mkdirSync(join(root, "bin"));
    writeFileSync(join(root, "bin", "sh"), "#!/bin/sh\n", { mode: 0o755 });
    const env = { PATH: join(root, "bin") };
    expect(findProgram("sh", { env })?.path).toBe(join(root, "bin", "sh"));
    expect(findProgram("sh", { env, systemFirst: true })?.path).toMatch(/^\/(?:usr\/)?bin\/sh$/);
  });
});

describe("passed over is", () => {
  it("what is no file, or may not be run", () => {
    chmodSync(put("plain"), 0o644);
    mkdirSync(join(root, "folder", name), { recursive: true });
    mkdirSync(join(root, "link"));
    symlinkSync(join(root, "nowhere"), join(root, "link", name));
    mkdirSync(join(root, "fifo"));
    execFileSync("mkfifo", ["-m", "755", join(root, "fifo", name)]);
    for (const directory of ["plain", "folder", "link", "fifo"])
      expect(found(join(root, directory))).toBeNull();
  });

  it("what everybody may write, or may replace", () => {
    const file = put("file");
    chmodSync(file, 0o757);
    expect(found(join(root, "file"))).toBeNull();
    put("open");
    chmodSync(join(root, "open"), 0o777);
    expect(found(join(root, "open"))).toBeNull();
    put("above", "bin");
    chmodSync(join(root, "above"), 0o777);
    expect(found(join(root, "above", "bin"))).toBeNull();
    chmodSync(join(root, "above"), 0o1777);
    expect(found(join(root, "above", "bin"))).not.toBeNull();
    // A link that leads there is no better.
    mkdirSync(join(root, "links"));
    symlinkSync(join(root, "open", name), join(root, "links", name));
    expect(found(join(root, "links"))).toBeNull();
  });

  it("nothing that only a group may write besides its owner", () => {
    const file = put("group");
    chmodSync(file, 0o775);
    chmodSync(join(root, "group"), 0o775);
    expect(found(join(root, "group"))).toBe(file);
  });

  it("what belongs to somebody else", () => {
    const me = process.getuid?.() ?? 0;
    const path = put("bin");
    if (me === 0) {
      chownSync(path, 12345, 12345);
      expect(found(join(root, "bin"))).toBeNull();
      expect(found(join(root, "bin"), { uid: 12345 })).toBe(path);
      chownSync(path, 0, 0);
      chownSync(join(root, "bin"), 12345, 12345);
      expect(found(join(root, "bin"))).toBeNull();
    } else {
      expect(found(join(root, "bin"), { uid: me + 1 })).toBeNull();
      expect(found(join(root, "bin"), { uid: me })).toBe(path);
    }
  });

  it("what lies below a directory in which a session works, by whatever path", () => {
    const [own, other] = [put("shop", "bin"), put("other", "bin")];
    const path = `${join(root, "shop", "bin")}:${join(root, "other", "bin")}`;
    expect(found(path)).toBe(own);
    expect(found(path, { workedIn: [join(root, "shop")] })).toBe(other);
    expect(found(path, { workedIn: [join(root, "sho")] })).toBe(own);
    mkdirSync(join(root, "links"));
    symlinkSync(own, join(root, "links", name));
    expect(found(join(root, "links"), { workedIn: [join(root, "shop")] })).toBeNull();
    expect(found(join(root, "links"), { workedIn: [join(root, "links")] })).toBeNull();
  });

  it("nothing of the system's where a session works at the root", () => {
    const program = findProgram("sh", {
      env: { PATH: "/usr/bin:/bin" },
      workedIn: ["/", "/usr", "/usr/bin"],
    });
    expect(program).not.toBeNull();
    if (program !== null) expect(isOf(program, "/")).toBe(false);
  });
});
