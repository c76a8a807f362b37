/** The guard against git itself: work that is staged, what another one began, what somebody holds, traps. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Form, forms, OracleWorld, type Setting, work } from "./guard-oracle.ts";

const w = new OracleWorld();

beforeAll(() => w.start());
afterAll(() => w.dispose());

describe("with work that is staged, too", () => {
  let here: Setting;
  beforeAll(async () => {
    here = await w.setting("staged", () => {}, { "staged.ts": "ann's\n", "added.ts": "ann's\n" });
    w.git(here.dir, "add", "staged.ts", "added.ts");
  });

  forms(
    w,
    () => here,
    [...Object.keys(work), "staged.ts", "added.ts"],
    [
      ["git merge near"],
      ["git merge stages", "refuses"],
      ["git merge --abort"],
      ["git switch near"],
      ["git switch stages", "refuses"],
      ["git checkout -b topic near"],
      ["git cherry-pick near"],
      ["git cherry-pick -n near"],
      ["git revert --no-edit HEAD"],
      ["git rebase near"],
      ["git pull --ff-only"],
      ["git reset --keep near"],
      ["git reset --merge"],
      ["git reset --merge near"],
      ["git reset --hard"],
      ["git switch -m stages", "refuses"],
      ["git merge --autostash near", "stashes"],
    ],
  );
});

describe("in the middle of something that another one began", () => {
  const states: readonly (readonly [name: string, begin: string, end: readonly Form[]])[] = [
    [
      "merge",
      "git merge far || true",
      [
        ["git merge --abort"],
        ["git merge --quit"],
        ["git reset --merge"],
        ["git cherry-pick --abort"],
        ["git rebase --abort"],
      ],
    ],
    [
      "cherry-pick",
      "git cherry-pick far || true",
      [["git cherry-pick --abort"], ["git cherry-pick --skip"], ["git merge --abort"]],
    ],
    ["revert", "git revert --no-edit HEAD~1 || true", [["git revert --abort"], ["git merge --abort"]]],
    [
      "rebase",
      "git rebase far || true",
      [["git rebase --abort"], ["git rebase --skip"], ["git merge --abort"]],
    ],
  ];
  for (const [name, begin, end] of states) {
    describe(name, () => {
      let here: Setting;
      beforeAll(async () => {
        here = await w.setting(
          `during-${name}`,
          dir => {
            w.git(dir, "switch", "-qc", "far", "HEAD~1");
            w.commit(dir, { "far2.ts": "other\n" });
            w.git(dir, "switch", "-q", "main");
            w.commit(dir, { "far2.ts": "four\n" });
            w.commit(dir, { "far2.ts": "five\n" });
            w.shell(dir, begin);
            expect(w.git(dir, "ls-files", "-u")).not.toBe("");
          },
          { "staged.ts": "ann's\n" },
        );
        w.git(here.dir, "add", "staged.ts");
      });
      forms(w, () => here, [...Object.keys(work), "staged.ts"], end);
    });
  }
});

describe("under somebody who holds a file or a folder", () => {
  const held = async (name: string, what: string) => {
    const here = await w.setting(name, dir => w.put(dir, "src/c.ts", "c\n"));
    const client = await w.client();
    expect(await client.ask({ type: "file_lock", id: `ann-${name}`, file: what })).toMatchObject({
      ok: true,
    });
    return here;
  };

  it("a file that would change stays as it is, others may change", async () => {
    const here = await held("held", "far.ts");
    expect(await w.isDenied(here.bob, here.dir, "git switch near")).toBe(true);
    expect(await w.isDenied(here.bob, here.dir, "git merge near")).toBe(true);
    expect(await w.isDenied(here.bob, here.dir, "git switch takes")).toBe(false);
    expect(await w.isDenied(here.bob, here.dir, "git revert --no-edit HEAD")).toBe(false);
  });

  it("a folder, with all that is in it", async () => {
    const here = await held("folder", "dir/");
    expect(await w.isDenied(here.bob, here.dir, "git switch folder")).toBe(true);
    expect(await w.isDenied(here.bob, here.dir, "git switch near")).toBe(false);
  });
});

describe("looking at what would change", () => {
  const traps: readonly (readonly [name: string, set: (dir: string, ran: string) => void])[] = [
    ["a diff of its own", (dir, ran) => w.git(dir, "config", "diff.external", `touch ${ran};`)],
    [
      "a driver for some files",
      (dir, ran) => {
        w.git(dir, "config", "diff.x.command", `touch ${ran};`);
        w.git(dir, "config", "diff.x.textconv", `touch ${ran};`);
        w.git(dir, "config", "filter.x.clean", `touch ${ran}; cat`);
        w.put(dir, ".git/info/attributes", "* diff=x filter=x\n");
      },
    ],
    ["a monitor of the files", (dir, ran) => w.git(dir, "config", "core.fsmonitor", `touch ${ran};`)],
    [
      "an editor, a pager and a hook",
      (dir, ran) => {
        w.git(dir, "config", "core.pager", `touch ${ran};`);
        w.git(dir, "config", "pager.diff-tree", `touch ${ran};`);
        w.git(dir, "config", "core.sshCommand", `touch ${ran};`);
        w.put(dir, ".git/hooks/post-checkout", `#!/bin/sh\ntouch ${ran}\n`);
      },
    ],
  ];

  it.each(traps)("runs nothing that a repository names: %s", async (name, set) => {
    const here = await w.setting(`trap-${traps.findIndex(([each]) => each === name)}`, () => {});
    const ran = join(w.folder, `ran-${name.replaceAll(" ", "-")}`);
    set(here.dir, ran);
    for (const line of [
      "git merge near",
      "git cherry-pick main..near",
      "git rebase near",
      "git checkout none",
      "git pull",
    ]) {
      expect(await w.isDenied(here.bob, here.dir, line), line).toBe(false);
    }
    expect(await w.isDenied(here.bob, here.dir, "git merge hit")).toBe(true);
    expect(existsSync(ran)).toBe(false);
  });

  it("words that only look like a branch do nothing to git", async () => {
    const here = await w.setting("words", () => {});
    const lines = [
      "git switch -- --output=x",
      "git merge '--upload-pack=x'",
      "git checkout 'a b'",
      "git cherry-pick '^near' hit",
      "git merge ''",
      "git checkout :/nothing",
      "git checkout '@{9999}'",
    ];
    for (const line of lines) await w.isDenied(here.bob, here.dir, line);
    expect(existsSync(join(here.dir, "x"))).toBe(false);
  });
});
