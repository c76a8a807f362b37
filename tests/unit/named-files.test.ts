import { describe, expect, test } from "vitest";
import { namedFiles } from "../../hooks/shell/named-files.ts";
import { topFolder } from "../../protocol/guard.ts";
import { limits } from "../../protocol/limits.ts";

const env = new Map([["HOME", "/h"]]);

/** What a line wipes and edits: `rm: wipes a`, with paths as seen from `/p`, where it begins. */
function named(line: string): readonly string[] {
  const { wiped, edited, rewritten } = namedFiles(line, "/p", env);
  const near = (path: string) => path.replaceAll(topFolder, "TOP").replace(/^\/p\//, "");
  return [
    ...wiped.map(({ name, path, isDeep, copied }) => {
      const from = copied === undefined ? "" : ` where ${near(copied.from)} has it for ${near(copied.to)}`;
      return `${name}: wipes ${near(path)}${isDeep ? "/**" : ""}${from}`;
    }),
    ...edited.map(({ name, path, isMoved }) => `${name}: ${isMoved ? "moves" : "edits"} ${near(path)}`),
    ...rewritten.map(({ name, path }) => `${name}: rewrites ${near(path)}`),
  ];
}

test("a patch that cannot be read is said, for the trail", () => {
  const unread = (line: string) => namedFiles(line, "/p", env).unread;
  expect(unread("apply_patch '*** Begin Patch\n*** Add File: a\n*** End Patch'")).toBeNull();
  expect(unread("apply_patch 'a'")).toContain("first line");
  expect(unread('apply_patch "$PATCH"')).toContain("the shell alone");
  expect(unread("rm a")).toBeNull();
});

describe("what the plain commands of a line wipe, change and move", () => {
  test.each<[line: string, ...files: string[]]>([
    ["rm a b", "rm: wipes a", "rm: wipes b"],
    [
      "cd src && apply_patch <<'E'\n*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** Delete File: b\n*** End Patch\nE",
      "apply_patch: wipes src/b",
      "apply_patch: edits src/a",
    ],
    [
      "apply_patch '*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Add File: /c\n+x\n*** End Patch'",
      "apply_patch: edits b",
      "apply_patch: edits /c",
      "apply_patch: moves a",
    ],
    ['apply_patch "$PATCH"'],
    ["apply_patch < a.patch"],
    ["rm -f a -- -b", "rm: wipes a", "rm: wipes -b"],
    ["rm a -rf", "rm -r: wipes a/**"],
    ["rm -rf src/", "rm -r: wipes src//**"],
    ["rm -- *.ts", "rm: wipes *.ts"],
    ["cd src && rm a", "rm: wipes src/a"],
    ["cd $DIR && rm a"],
    ["cd $DIR && rm /x/a", "rm: wipes /x/a"],
    ['cd "$(git rev-parse --show-toplevel)" && rm a', "rm: wipes TOP/a"],
    ["rm $FILE"],
    ["rm ~/a", "rm: wipes /h/a"],
    ["rm {a,b}", "rm: wipes a", "rm: wipes b"],
    ["for f in a b; do rm $f; done", "rm: wipes a", "rm: wipes b"],
    ["echo a | xargs rm -f", "rm: wipes a"],
    ["git ls-files | xargs rm"],
    ["find . -name a -exec rm {} +"],
    ["sudo rm a; env X=1 timeout 5 /bin/rm b", "rm: wipes a", "rm: wipes b"],
    ["sh -c 'rm a'", "rm: wipes a"],
    ["echo rm a"],
    ["unlink a", "unlink: wipes a"],
    ["rmdir a"],
    ["truncate -s 0 a --size=1 b", "truncate: wipes a", "truncate: wipes b"],
    ["cp a b", "cp: wipes b", "cp: wipes b/a"],
    ["cp x/a y/b d", "cp: wipes d/a", "cp: wipes d/b"],
    ["cp -t d a", "cp: wipes d", "cp: wipes d/a"],
    ["cp -n a b"],
    ["cp --backup a b"],
    ["cp -r s d", "cp: wipes d", "cp: wipes d/s/** where . has it for d"],
    ["cp -a s/. d", "cp: wipes d", "cp: wipes d/./** where s/. has it for d"],
    ["cp gen/*.ts src", "cp: wipes src/*.ts where gen has it for src"],
    ["cp a"],
    ["mv a b", "mv: wipes b", "mv: wipes b/a", "mv: moves a"],
    ["mv -n a b", "mv: moves a"],
    ["mv src/ lib", "mv: wipes lib", "mv: wipes lib/src", "mv: moves src/"],
    ["mv a b d", "mv: wipes d/a", "mv: wipes d/b", "mv: moves a", "mv: moves b"],
    ["echo x | tee a b >/dev/null 2>&1", "tee: rewrites a", "tee: rewrites b"],
    ["cat b > a", ">: rewrites a"],
    [": > a; ls 2> b &> c >| d", ">: rewrites a", ">: rewrites b", ">: rewrites c", ">: rewrites d"],
    ["cd src && git show HEAD:a > a", ">: rewrites src/a"],
    ["cat > a <<'E'\nx\nE", ">: rewrites a"],
    ["echo x >> a; (ls; pwd) &>> b", ">>: edits a", ">>: edits b"],
    ["ls >&2; ls > $OUT"],
    ["echo x | tee -a a", "tee -a: edits a"],
    ["sed -i s/x/y/ a b", "sed -i: edits a", "sed -i: edits b"],
    ["sed -i.bak -e s/x/y/ a", "sed -i: edits a"],
    ["sed -Ei 's/x/y/' a", "sed -i: edits a"],
    ["sed -n -i -f script a", "sed -i: edits a"],
    ["sed --in-place=.bak s/x/y/ a", "sed -i: edits a"],
    ["sed -n 1,5p a"],
    ["sed 's/-i/x/' a"],
    ["perl -pi -e 's/x/y/' a", "perl -i: edits a"],
    ["perl -i.bak -pe 's/x/y/' a b", "perl -i: edits a", "perl -i: edits b"],
    ["perl -pe 's/x/y/' a"],
    ["perl -i script a", "perl -i: edits a"],
    ["npx prettier --write a.ts", "prettier: edits a.ts"],
    ["npx prettier --config p.json --write a.ts b.ts", "prettier: edits a.ts", "prettier: edits b.ts"],
    ["yarn prettier -w a.ts", "prettier: edits a.ts"],
    ["npx prettier a.ts"],
    ["npx prettier --write 'src/**/*.ts'"],
    ["npx biome check --write a.ts", "biome: edits a.ts"],
    ["biome ci a.ts --write"],
    ["npx eslint --fix a.ts", "eslint: edits a.ts"],
    ["ruff format a.py; ruff check a.py", "ruff: edits a.py"],
    ["black --check a.py; black a.py", "black: edits a.py"],
    ["gofmt -w a.go; gofmt b.go", "gofmt: edits a.go"],
    ["npm run lint -- --write a.ts"],
    ["unterminated 'rm a"],
  ])("%s", (line, ...files) => {
    expect(named(line)).toEqual(files);
  });

  test("the first paths of a line with too many", () => {
    const many = Array.from({ length: limits.namedFilesMax + 9 }, (_, i) => `f${i}`).join(" ");
    expect(named(`rm ${many}`)).toHaveLength(limits.namedFilesMax);
    expect(named(`sed -i s/x/y/ ${many}; rm a`)).toHaveLength(limits.namedFilesMax);
    expect(named(`rm ${many}; sed -i s/x/y/ a`)).toHaveLength(limits.namedFilesMax);
  });
});
