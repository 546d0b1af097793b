// An editor in TypeScript's own library of the protocol: node editor.mjs FOLDER MESSAGE COMMAND ARGUMENT…
// Prints one JSON object: what the agent said, what was asked, how it ended.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [folder, message, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const found = { text: "", thoughts: "", calls: [], asked: [], kinds: {} };
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

const editor = acp
  .client({ name: "editor" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    found.asked.push(params.toolCall.title);
    const yes = params.options.find((option) => option.kind === "allow_once");
    return { outcome: { outcome: "selected", optionId: yes.optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    const update = params.update;
    found.kinds[update.sessionUpdate] = (found.kinds[update.sessionUpdate] ?? 0) + 1;
    if (update.sessionUpdate === "agent_message_chunk") found.text += update.content.text;
    if (update.sessionUpdate === "agent_thought_chunk") found.thoughts += update.content.text;
    if (update.sessionUpdate === "tool_call") found.calls.push(update.title);
  });

await editor.connectWith(stream, async (agent) => {
  const methods = acp.methods.agent;
  const greeting = await agent.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  found.agent = greeting.agentInfo.name;
  const session = await agent.request(methods.session.new, { cwd: folder, mcpServers: [] });
  found.modes = session.modes.availableModes.length;
  found.options = session.configOptions.map((option) => option.id);
  const ended = await agent.request(methods.session.prompt, {
    sessionId: session.sessionId,
    prompt: [{ type: "text", text: message }],
  });
  found.stopReason = ended.stopReason;
  const listed = await agent.request(methods.session.list, { cwd: folder });
  found.listed = listed.sessions.map((each) => each.title);
});
child.stdin.end();
console.log(JSON.stringify(found));
