import { describe, expect, it } from "vitest";
import { strangeWorktree } from "../../daemon/config/off-switch.ts";

/** Looks with these files there; real paths are as they are written. */
function look(
  place: { readonly project: string; readonly worktree: string; readonly gitDir: string },
  files: Readonly<Record<string, string>> = {},
) {
  const reader = {
    text: async (path: string) => files[path] ?? null,
    real: async (path: string) => path,
  };
  return strangeWorktree({ ...place, branch: "main" }, reader);
}

const strange = expect.stringContaining("does not know it as a worktree");

describe("a worktree is its repository's own", () => {
  it("where git made it", async () => {
    const plain = { project: "/shop", worktree: "/shop", gitDir: "/shop/.git" };
    expect(await look(plain)).toBeNull();
    const added = { project: "/shop", worktree: "/side", gitDir: "/shop/.git/worktrees/side" };
    expect(await look(added, { [`${added.gitDir}/gitdir`]: "/side/.git\n" })).toBeNull();
    const module = { project: "/shop/.git/modules/x", worktree: "/shop/x", gitDir: "/shop/.git/modules/x" };
    expect(await look(module, { [`${module.gitDir}/config`]: "[core]\n\tbare = false\n" })).toBeNull();
  });

  it("and not where a folder only names a repository", async () => {
    const added = { project: "/shop", worktree: "/evil", gitDir: "/shop/.git/worktrees/side" };
    expect(await look(added, { [`${added.gitDir}/gitdir`]: "/side/.git\n" })).toEqual(strange);
    const packed = { project: "/shop", worktree: "/evil", gitDir: "/evil/.git" };
    expect(await look(packed, { "/evil/.git/commondir": "../../shop/.git\n" })).toEqual(strange);
    const bare = { project: "/shop", worktree: "/evil", gitDir: "/evil" };
    expect(await look(bare, { "/evil/commondir": "../shop/.git\n" })).toEqual(strange);
    const served = { project: "/srv.git", worktree: "/evil", gitDir: "/srv.git" };
    expect(await look(served, { "/srv.git/config": "[core]\n\tbare = true\n" })).toEqual(strange);
  });
});
