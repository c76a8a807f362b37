/** Lines that run a person's command of Kite so that Kite cannot tell whose it is: an agent's hook refuses them. */
import { expect, it } from "vitest";
import { claudeCodeClient } from "../../hooks/claude-code/adapter.ts";
import { hiddenDeed } from "../../hooks/plans/kite-calls.ts";

it.each<[string, string]>([
  ["env -u CLAUDECODE kite role bob lead", "kite role"],
  ["env -u CLAUDECODE -u CLAUDE_CODE_SESSION_ID kite task approve 1a", "kite task"],
  ["env -i HOME=/h kite agents stop bob", "kite agents"],
  ["env - kite off", "kite off"],
  ["setsid kite release bob", "kite release"],
  ["setsid -f nohup /usr/bin/env -u KITE_SESSION ~/bin/kite thaw", "kite thaw"],
  ["nohup kite check --trust --yes &", "kite check"],
  ["unset CLAUDECODE; kite down --yes", "kite down"],
  ["CLAUDECODE= kite unlock --force a.ts", "kite unlock"],
  ["KITE_SESSION=alice kite release bob", "kite release"],
  ["export CLAUDE_CODE_SESSION_ID=x && kite stop bob", "kite stop"],
  ["bash -c 'env -u CLAUDECODE kite install'", "kite install"],
  ['cd /p && (setsid sh -c "kite config set treeGuard off")', "kite config"],
  ["env -u CLAUDECODE kite store leave --yes", "kite store"],
  ["timeout 9 env --ignore-environment kite doctor --fix --yes", "kite doctor"],
])("%s", (line, deed) => {
  expect(hiddenDeed(line, "/p", claudeCodeClient.words.agentVariables)).toBe(deed);
});

it.each([
  "kite role bob lead",
  "kite release bob",
  "env -u CLAUDECODE kite status",
  "setsid kite task list",
  "env -u NODE_OPTIONS kite task done 1a",
  "nohup npm start & kite task done 1a",
  "KITE_HOME=/tmp/k kite task done 1a",
  "git commit -m 'kite role works under setsid and nohup'",
  "echo 'env -u CLAUDECODE kite role bob lead'",
  "grep -rn 'nohup kite down' docs",
  "env -u CLAUDECODE kite unlock a.ts",
  "env -u CLAUDECODE kite store --json",
])("%s is not one", line => {
  expect(hiddenDeed(line, "/p", claudeCodeClient.words.agentVariables)).toBeNull();
});
