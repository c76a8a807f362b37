/** Which files of one folder a shell line writes. */
import { expect, test } from "vitest";
import { filesWritten } from "../../hooks/shell/written.ts";

const home = "/home/dev";
const env = new Map([
  ["HOME", home],
  ["KITE_HOME", `${home}/.kite`],
]);
const names = (line: string, cwd = "/p") =>
  filesWritten(line, cwd, ".kite", env).map(path => path.replace(`${home}/.kite`, "K"));

test.each<[string, readonly string[]]>([
  ["git log > ~/.kite/trusted.json", ["K/trusted.json"]],
  ["git log >> $HOME/.kite/off", ["K/off"]],
  ["git log 2> ~/.kite/config.json", ["K/config.json"]],
  ["git log &> ~/.kite/config.json", ["K/config.json"]],
  ["git status; : > $KITE_HOME/off", ["K/off"]],
  ["{ git log; echo; } > ~/.kite/off", ["K/off"]],
  ["> ~/.kite/off; git log", ["K/off"]],
  ["cd ~/.kite && git init && touch off down", ["K/off", "K/down"]],
  ["cd /x; touch ../home/dev/.kite/./off", ["K/off"]],
  ["git log | tee -a ~/.kite/trusted.json", ["K/trusted.json"]],
  ["rm -rf ~/.kite", ["K"]],
  ["rm -f -- ~/.kite/trusted.json", ["K/trusted.json"]],
  ["sudo rm ~/.kite/tr*", ["K/tr*"]],
  ["rm ~/.kite/$X", ["K"]],
  ["for f in off down; do touch ~/.kite/$f; done", ["K/off", "K/down"]],
  ["mv ~/.kite/trusted.json /tmp/away", ["K/trusted.json"]],
  ["cp forged.json ~/.kite/trusted.json", ["K/trusted.json"]],
  ["cp -t ~/.kite trusted.json", ["K"]],
  ["install --target-directory=$HOME/.kite a b", ["K"]],
  ["ln -sf /tmp/x ~/.kite/config.json", ["K/config.json"]],
  ["sed -i s/a/b/ ~/.kite/config.json", ["K/config.json"]],
  ["perl -pi -e 1 ~/.kite/config.json", ["K/config.json"]],
  ["dd if=/dev/null of=$HOME/.kite/trusted.json", ["K/trusted.json"]],
  ["find ~/.kite -name 'tr*' -delete", ["K"]],
  ["bash -c 'rm ~/.kite/off'", ["K/off"]],
  ["bash <<'E'\nrm ~/.kite/off\nE", ["K/off"]],
])("%j writes", (line, written) => expect(names(line)).toEqual(written));

test.each([
  "cat ~/.kite/config.json | git hash-object --stdin",
  "cp ~/.kite/config.json /tmp/mine",
  "git diff < ~/.kite/config.json",
  "sed -n 1p ~/.kite/config.json",
  "ls ~/.kite; git status",
  "find ~/.kite -name off",
  "rm .kite.bak ~/.kites/off",
  "rm $X/off",
  "echo 'rm ~/.kite/off'",
  "git commit -m 'touch ~/.kite/off'",
])("%j writes none", line => expect(names(line)).toEqual([]));

test("a relative name counts where the line is", () => {
  expect(names("rm off && git log", `${home}/.kite`)).toEqual(["K/off"]);
});

test("many files cost no more than the bound", () => {
  const line = `git log; rm ${Array.from({ length: 5_000 }, (_, n) => `~/.kite/${n}`).join(" ")}`;
  expect(names(line)).toHaveLength(100);
});
