import { onSdkV1 } from '../../binding.ts';

onSdkV1();
await import('../../first-draft-life.test.ts');
