# shellcheck shell=bash disable=SC2034,SC2054 # for whoever reads this file; commas in options
# SPDX-License-Identifier: Apache-2.0
# The guest's machine: read by image and exec, which must agree on every device, or a saved state
# could not be loaded.
#
# VM_DIR      where the image is kept (~/.cache/brig-vm)
# VM_ACCEL    tcg (default: works anywhere, slow) or kvm
# VM_MEMORY   MiB of memory (1024)
# VM_CPUS     processors (1)

VM_DIR=${VM_DIR:-${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/brig-vm}
VM_ACCEL=${VM_ACCEL:-tcg}
VM_MEMORY=${VM_MEMORY:-1024}
VM_CPUS=${VM_CPUS:-1}

# The maximum size of the tar archive on the second disk.
VM_TREE_MIB=256

# Five-level page tables only cost time under emulation. The guest's clock counts instructions (4 ns
# each) while it works: a busy host makes it late, but causes no timeouts in it.
case $VM_ACCEL in
kvm) vm_cpu=host vm_clock=() ;;
*) vm_cpu=max,la57=off vm_clock=(-icount shift=2) ;;
esac

# A state belongs to the machine that it was saved on.
VM_STATE=$VM_DIR/state-$VM_ACCEL-$VM_MEMORY-$VM_CPUS

# machine ROOT-DISK TREE-DISK DIR: sets VM_COMMAND. In DIR are the fifos ctl.in and ctl.out (lines
# from and to the guest's job, see inside/job) and the files or fifos out and err.
machine() {
	local root=$1 tree=$2 dir=$3
	VM_COMMAND=(
		qemu-system-x86_64 -M q35 -m "$VM_MEMORY" -smp "$VM_CPUS"
		-accel "$VM_ACCEL" -cpu "$vm_cpu" "${vm_clock[@]}"
		-nodefaults -no-user-config -display none -no-reboot
		-kernel "$VM_DIR/vmlinuz" -initrd "$VM_DIR/initrd"
		-append "root=/dev/vda rw quiet panic=-1 audit=0 mitigations=off random.trust_cpu=on console=ttyS0"
		-serial "file:$dir/console" -device virtio-rng-pci
		-drive "file=$root,format=qcow2,if=virtio,cache=unsafe"
		-drive "file=$tree,format=raw,if=virtio,cache=unsafe"
		-device virtio-serial-pci
		-chardev "pipe,id=ctl,path=$dir/ctl" -device virtserialport,chardev=ctl,name=brig.ctl
		-chardev "file,id=out,path=$dir/out" -device virtserialport,chardev=out,name=brig.out
		-chardev "file,id=err,path=$dir/err" -device virtserialport,chardev=err,name=brig.err
	)
}
