import type { LegacyPeer } from '../server/legacy-peer.ts';
import type { Json } from '../support/messages.ts';
import type { Stage } from './stage.ts';

type Conversation = (stage: Stage) => Promise<void>;

const plain = { capabilities: {} };
const forms = { capabilities: { elicitation: { form: {} } } };
const green = { action: 'accept', content: { colour: 'green' } };

/** The id in words, or data, that say how to go on. */
function idIn(result: Json): string {
  const id = /tsk_[\w-]{24}/.exec(JSON.stringify(result))?.[0];
  if (id === undefined) throw new Error(`no task in ${JSON.stringify(result)}`);
  return id;
}

const modern: Record<string, Conversation> = {
  async discovery({ peer }) {
    await peer.send('server/discover', {});
    await peer.send('tools/list', {});
    await peer.send('tools/list', {}, plain);
  },

  async task({ peer, go, says, reaches }) {
    const { taskId } = await peer.start('walk');
    await says(taskId, '1/2 half-way');
    await peer.get(taskId);
    go();
    await reaches(taskId, 'completed');
    await peer.get(taskId);
    await peer.get(taskId);
  },

  async question({ peer, reaches }) {
    const { taskId } = await peer.start('paint');
    await reaches(taskId, 'input_required');
    await peer.get(taskId);
    await peer.update(taskId, { colour: green });
    await reaches(taskId, 'completed');
    await peer.get(taskId);
  },

  async failure({ peer, reaches }) {
    const { taskId } = await peer.start('broken');
    await reaches(taskId, 'failed');
    await peer.get(taskId);
  },

  async 'is-error'({ peer, reaches }) {
    const { taskId } = await peer.start('report');
    await reaches(taskId, 'completed');
    await peer.get(taskId);
  },

  async cancel({ peer, says }) {
    const { taskId } = await peer.start('walk');
    await says(taskId, '1/2 half-way');
    await peer.cancel(taskId);
    await peer.get(taskId);
    await peer.cancel(taskId);
  },

  async unknown({ peer }) {
    const taskId = 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA';
    await peer.get(taskId);
    await peer.update(taskId, { colour: green });
    await peer.cancel(taskId);
    await peer.send('tasks/result', { taskId });
    await peer.get(taskId, plain);
  },

  async inline({ peer, answered }) {
    await peer.call('greet', { name: 'Ada' }, plain);
    await answered(peer.call('report', {}, plain));
    await answered(peer.call('broken', {}, plain));
  },

  async detached({ peer, answered }) {
    const { result } = await answered(peer.call('nap', {}, plain));
    await answered(peer.call('task_wait', { taskId: idIn(result), maxWaitSec: 60 }, plain));
    await peer.call('task_list', {}, plain);
  },

  async 'detached-question'({ peer, answered, reaches }) {
    const { result } = await answered(peer.call('paint', {}, plain));
    const taskId = idIn(result);
    await peer.call('task_answer', { taskId, key: 'colour', ...green }, plain);
    await reaches(taskId, 'completed');
    await peer.call('task_result', { taskId }, plain);
  },

  async rounds({ peer, answered }) {
    const { result } = await answered(peer.call('paint', {}, forms));
    const { requestState } = result;
    const again = { name: 'paint', arguments: {}, inputResponses: { colour: green }, requestState };
    await answered(peer.send('tools/call', again, forms));
  },
};

const legacy: Record<string, Conversation> = {
  async discovery({ connect }) {
    const peer = await connect({});
    await peer.send('ping');
    await peer.send('tools/list');
  },

  async task({ connect, go, says, reaches }) {
    const peer = await connect({});
    const { taskId } = await peer.start('walk', {}, { ttl: 3_600_000 });
    await says(taskId, '1/2 half-way');
    await peer.send('tasks/get', { taskId });
    go();
    await reaches(taskId, 'completed');
    await peer.send('tasks/get', { taskId });
    await peer.send('tasks/result', { taskId });
    await peer.send('tasks/result', { taskId });
  },

  async question({ connect, reaches }) {
    const peer = await connect(forms);
    peer.onQuestion = () => ({ result: green });
    const { taskId } = await peer.start('paint');
    await reaches(taskId, 'input_required');
    await peer.send('tasks/get', { taskId });
    await peer.send('tasks/result', { taskId });
    await peer.send('tasks/get', { taskId });
  },

  async failure({ connect, reaches }) {
    const peer = await connect({});
    const { taskId } = await peer.start('broken');
    await reaches(taskId, 'failed');
    await peer.send('tasks/get', { taskId });
    await peer.send('tasks/result', { taskId });
  },

  async 'is-error'({ connect, reaches }) {
    const peer = await connect({});
    const { taskId } = await peer.start('report');
    await reaches(taskId, 'completed');
    await peer.send('tasks/get', { taskId });
    await peer.send('tasks/result', { taskId });
  },

  async cancel({ connect, says }) {
    const peer = await connect({});
    const { taskId } = await peer.start('walk');
    await says(taskId, '1/2 half-way');
    await peer.send('tasks/cancel', { taskId });
    await peer.send('tasks/get', { taskId });
    await peer.send('tasks/result', { taskId });
    await peer.send('tasks/cancel', { taskId });
  },

  async list({ connect, reaches, tick }) {
    const peer = await connect(forms);
    for (const tool of ['report', 'broken', 'paint']) {
      const { taskId } = await peer.start(tool);
      await reaches(taskId, { report: 'completed', broken: 'failed' }[tool] ?? 'input_required');
      await tick(); // The list goes by age.
    }
    await peer.send('tasks/list');
    await peer.send('tasks/list', { cursor: 'made up' });
  },

  async unknown({ connect }) {
    const peer = await connect({});
    const taskId = 'tsk_AAAAAAAAAAAAAAAAAAAAAAAA';
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel']) await peer.send(method, { taskId });
  },

  async inline({ connect, answered }) {
    const peer = await connect({});
    await peer.call('greet', { name: 'Ada' });
    await answered(peer.call('report'));
    await answered(peer.call('broken'));
  },

  async 'inline-question'({ connect, answered }) {
    const peer = await connect(forms);
    peer.onQuestion = () => ({ result: green });
    await answered(peer.call('paint'));
  },

  detached: (stage) => detached(stage, '2025-11-25'),
};

const older = (version: string): Record<string, Conversation> => ({
  async discovery({ connect }) {
    const peer = await connect({ version });
    await peer.send('tools/list');
  },

  async call({ connect, answered }) {
    const peer = await connect({ version });
    await peer.call('greet', { name: 'Ada' });
    await answered(peer.call('report'));
    await answered(peer.call('broken'));
  },

  detached: (stage) => detached(stage, version),
});

async function detached({ connect, answered }: Stage, version: string): Promise<void> {
  const peer: LegacyPeer = await connect({ version });
  const { result } = await answered(peer.call('nap'));
  await answered(peer.call('task_wait', { taskId: idIn(result), maxWaitSec: 60 }));
}

/** What is said in each conversation, by revision and name. */
export const conversations: Readonly<Record<string, Readonly<Record<string, Conversation>>>> = {
  '2026-07-28': modern,
  '2025-11-25': legacy,
  '2025-06-18': older('2025-06-18'),
  '2024-11-05': older('2024-11-05'),
};
