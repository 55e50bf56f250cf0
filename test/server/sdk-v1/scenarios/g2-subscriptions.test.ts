import { onSdkV1 } from '../../binding.ts';

onSdkV1();
await import('../../g2-subscriptions.test.ts');
