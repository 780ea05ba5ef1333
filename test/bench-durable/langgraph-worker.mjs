// The same work with LangGraph: a graph of a model and a tool node, its state saved in PostgreSQL after each step. Copied into the folder in
// which LangGraph is installed, and run there: `node langgraph-worker.mjs CONFIG-JSON`. Says `ready`, waits for a line, says `done MS`.
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';

const { connectionString, runs, tools, atOnce, durability, name } = JSON.parse(process.argv[2]);
const saver = PostgresSaver.fromConnString(connectionString);
await saver.setup();

/** Answers at once: `tools` calls, one a turn, then a text. */
const model = ({ messages }) => {
  const turn = messages.filter((message) => message.getType() === 'ai').length + 1;
  if (turn > tools) return { messages: [new AIMessage('The order is paid back.')] };
  const call = { id: `c${turn}`, name: 'book', args: { step: turn, note: 'as agreed with the customer' }, type: 'tool_call' };
  return { messages: [new AIMessage({ content: 'I book the next step.', tool_calls: [call] })] };
};
const tool = ({ messages }) => {
  const calls = messages.at(-1).tool_calls ?? [];
  return { messages: calls.map(({ id, args }) => new ToolMessage({ content: JSON.stringify({ booked: args.step }), tool_call_id: id })) };
};
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', model)
  .addNode('tools', tool)
  .addEdge(START, 'model')
  .addConditionalEdges('model', ({ messages }) => (messages.at(-1).tool_calls?.length ? 'tools' : END))
  .addEdge('tools', 'model')
  .compile({ checkpointer: saver });

let next = 0;
async function work() {
  for (let index = next++; index < runs; index = next++) {
    const config = { configurable: { thread_id: `${name}-${index}` }, recursionLimit: 100, durability };
    const { messages } = await graph.invoke({ messages: [new HumanMessage('Pay the order o-4711 back, please.')] }, config);
    if (messages.length !== 2 * tools + 2) throw new Error(`a run has ${messages.length} messages`);
  }
}
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
const began = performance.now();
await Promise.all(Array.from({ length: atOnce }, work));
process.stdout.write(`done ${performance.now() - began}\n`);
await saver.end();
process.exit(0);
